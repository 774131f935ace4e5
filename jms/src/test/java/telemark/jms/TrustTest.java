package telemark.jms;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrustTest {
  private static Failure refused(Path ca) {
    return assertThrows(Failure.class, () -> Trust.install(new Settings.Tls(ca.toString(), true)));
  }

  @Test
  void aFileThatIsNotThereIsNamed(@TempDir Path folder) {
    Failure failure = refused(folder.resolve("none.pem"));

    assertEquals("config", failure.kind());
    assertTrue(failure.getMessage().contains("none.pem"), failure.getMessage());
  }

  @Test
  void aFileWithoutCertificatesIsRefused(@TempDir Path folder) throws IOException {
    for (String text : new String[] {"", "not a certificate"}) {
      Path file = Files.writeString(folder.resolve("odd.pem"), text);

      assertTrue(refused(file).getMessage().startsWith("tls.ca: " + file), text);
    }
  }
}
