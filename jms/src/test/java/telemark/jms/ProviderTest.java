package telemark.jms;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProviderTest {
  private static Settings settings(String more) throws Failure {
    return Settings.parse("{\"provider\":\"x\",\"url\":\"tcp://127.0.0.1:1\",\"rows_file\":\"r\",\"prefetch\":10,"
        + "\"consumers\":[{\"topic\":\"a/#\",\"subscription\":0}]" + more + "}");
  }

  @Test
  void artemisKeepsHashAndTurnsPlusIntoStar() throws Failure {
    assertEquals("a.b.*.#", Provider.load("artemis").destination("a/b/+/#"));
  }

  @Test
  void activemqTurnsHashIntoGreater() throws Failure {
    assertEquals("a.b.*.>", Provider.load("activemq").destination("a/b/+/#"));
  }

  @Test
  void anEmptyLevelStaysAnEmptyLevel() throws Failure {
    assertEquals(".p.#", Provider.load("artemis").destination("/p/#"));
  }

  @Test
  void prefetchBecomesBytesForArtemisAndMessagesForActivemq() throws Failure {
    assertTrue(Provider.load("artemis").url(settings("")).endsWith("?consumerWindowSize=2560"));
    assertTrue(Provider.load("activemq").url(settings("")).contains("jms.prefetchPolicy.all=10&"));
  }

  @Test
  void theWindowOfArtemisHoldsLargeMessagesAndNeverOverflows() throws Failure {
    Provider artemis = Provider.load("artemis");

    assertTrue(artemis.url(settings(",\"payload\":262144")).endsWith("=" + 10 * (262144 + 224)));
    assertTrue(artemis.url(settings(",\"payload\":1000000000")).endsWith("=" + Integer.MAX_VALUE));
  }

  @Test
  void leastAcknowledgementIsAProvidersOwnMode() throws Failure {
    assertEquals(100, Provider.load("artemis").sessionMode("least"));
    assertTrue(Provider.load("activemq").url(settings(",\"acknowledge\":\"least\"")).contains("optimizeAcknowledge=true"));
  }

  @Test
  void tlsIsOnlyAskedForWhenSettingsSaySo() throws Failure {
    String tls = ",\"tls\":{\"verify\":true}";

    assertTrue(Provider.load("artemis").url(settings(tls)).endsWith("useDefaultSslContext=true&verifyHost=true"));
    assertTrue(Provider.load("activemq").url(settings(tls)).endsWith("socket.verifyHostName=true"));
    assertFalse(Provider.load("artemis").url(settings("")).contains("ssl"));
  }

  @Test
  void aProviderFileOfTheUsersOwnIsReadFromItsPath(@TempDir Path folder) throws IOException, Failure {
    Path file = folder.resolve("mine.properties");
    Files.writeString(file, "factory=no.such.Factory\nseparator=|\none-level=?\nall-levels=**\n");
    Provider provider = Provider.load(file.toString());

    assertEquals("a|?|**", provider.destination("a/+/#"));
    assertEquals("jar", assertThrows(Failure.class, () -> provider.factory(settings(""))).kind());
  }

  @Test
  void aFactoryComesFromAConstructorOrAStaticMethod(@TempDir Path folder) throws IOException, Failure {
    Path file = folder.resolve("mine.properties");
    Files.writeString(file, "factory=telemark.jms.ProviderTest$Plain#make\nfactory-arguments={host},{port}\n"
        + "factory-properties=Cache={prefetch};Label=a=b\nleast-factory-properties=NoAck=true\n");
    Plain made = (Plain) Provider.load(file.toString()).factory(settings(",\"acknowledge\":\"least\""));

    assertEquals("127.0.0.1:1 cache=10 label=a=b noAck=true", made.said);
  }

  @Test
  void propertiesGoToPutWhereThereIsOne(@TempDir Path folder) throws IOException, Failure {
    Path file = folder.resolve("mine.properties");
    Files.writeString(file, "factory=telemark.jms.ProviderTest$WithPut\nfactory-arguments=\n"
        + "factory-properties=Server={host};Port={port};DisableACK=true\n");
    WithPut made = (WithPut) Provider.load(file.toString()).factory(settings(""));

    assertEquals(Map.of("Server", "127.0.0.1", "Port", 1, "DisableACK", true), made.given);
  }

  @Test
  void aSetterThatIsNotThereIsNamed(@TempDir Path folder) throws IOException, Failure {
    Path file = folder.resolve("mine.properties");
    Files.writeString(file, "factory=telemark.jms.ProviderTest$Plain#make\nfactory-arguments={host},{port}\n"
        + "factory-properties=Colour=red\n");
    Provider provider = Provider.load(file.toString());

    assertTrue(assertThrows(Failure.class, () -> provider.factory(settings(""))).getMessage().contains("setColour"));
  }

  /** A connection factory with setters. */
  @SuppressWarnings("serial")
  public static class Plain extends ActiveMQConnectionFactory {
    private String said;

    private Plain(String said) {
      this.said = said;
    }

    public static Plain make(String host, int port) {
      return new Plain(host + ":" + port);
    }

    public void setCache(int messages) {
      said += " cache=" + messages;
    }

    public void setLabel(String label) {
      said += " label=" + label;
    }

    public void setNoAck(boolean value) {
      said += " noAck=" + value;
    }
  }

  /** A connection factory with one method for all properties, as Amlen's has. */
  @SuppressWarnings("serial")
  public static class WithPut extends ActiveMQConnectionFactory {
    private final Map<String, Object> given = new HashMap<>();

    public Object put(String name, Object value) {
      return given.put(name, value);
    }
  }

  @Test
  void aProviderThatIsNeitherPackagedNorAFileIsAClearFailure() {
    assertEquals("config", assertThrows(Failure.class, () -> Provider.load("nowhere")).kind());
  }
}
