package telemark.jms;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
  void aProviderThatIsNeitherPackagedNorAFileIsAClearFailure() {
    assertEquals("config", assertThrows(Failure.class, () -> Provider.load("nowhere")).kind());
  }
}
