package telemark.jms;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {
  private static final String GOOD =
      "{'provider':'artemis','url':'tcp://127.0.0.1:1','rows_file':'r','consumers':[{'topic':'a','subscription':0}],";

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
      "'acknowledge':'never'}|acknowledge: 'never'",
      "'subscription':'queue'}|subscription: 'queue'",
      "'receive':'poll'}|receive: 'poll'",
      "'prefetch':0}|prefetch: 0",
      "'url':''}|url: missing",
      "'consumers':[]}|consumers: 0",
  })
  void aWrongFieldIsNamedWithItsValue(String wrong, String expected) {
    Failure failure = assertThrows(Failure.class, () -> Settings.parse((GOOD + wrong).replace('\'', '"')));

    assertTrue(failure.getMessage().startsWith(expected), failure.getMessage());
  }
}
