package telemark.jms;

import jakarta.jms.ConnectionFactory;
import jakarta.jms.Session;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.regex.Pattern;

/** What differs between JMS providers, read from a properties file: a name of ours or the path of the user's own. */
final class Provider {
  private static final Pattern PREFETCH = Pattern.compile("\\{prefetch(?:\\*(\\d+))?}");

  private final String name;
  private final Properties properties;

  private Provider(String name, Properties properties) {
    this.name = name;
    this.properties = properties;
  }

  /** Loads {@code providers/NAME.properties} of the jar, or the file of that path. */
  static Provider load(String name) throws Failure {
    Properties properties = new Properties();
    try (InputStream packaged = Provider.class.getResourceAsStream("/providers/" + name + ".properties")) {
      if (packaged != null) {
        properties.load(packaged);
      } else {
        try (Reader file = Files.newBufferedReader(Path.of(name))) {
          properties.load(file);
        }
      }
    } catch (IOException error) {
      throw new Failure("config", "provider: no packaged provider and no readable file named " + name, error);
    }
    Provider provider = new Provider(name, properties);
    provider.required("factory");
    return provider;
  }

  private String required(String key) throws Failure {
    String value = properties.getProperty(key);
    if (value == null || value.isBlank()) {
      throw new Failure("config", "provider " + name + ": the property '" + key + "' is missing", null);
    }
    return value;
  }

  boolean shares() {
    return Boolean.parseBoolean(properties.getProperty("shared", "false"));
  }

  String whyNotShared() {
    return properties.getProperty("shared-missing", "the provider file says shared=false");
  }

  /** An MQTT topic filter as this provider's destination name: levels, {@code +} and {@code #} translated. */
  String destination(String filter) throws Failure {
    String[] levels = filter.split("/", -1);
    for (int i = 0; i < levels.length; i++) {
      if (levels[i].equals("+")) {
        levels[i] = required("one-level");
      } else if (levels[i].equals("#")) {
        levels[i] = required("all-levels");
      }
    }
    return String.join(required("separator"), levels);
  }

  /** The URL with this provider's parameters for prefetch, acknowledgement and TLS. */
  String url(Settings settings) {
    StringBuilder url = new StringBuilder(settings.url());
    append(url, prefetch(properties.getProperty("url-parameters", ""), settings.prefetch()));
    if (settings.acknowledge().equals("least")) {
      append(url, properties.getProperty("least-url-parameters", ""));
    }
    if (settings.tls() != null) {
      String verify = String.valueOf(settings.tls().verify());
      append(url, properties.getProperty("tls-parameters", "").replace("{verify}", verify));
    }
    return url.toString();
  }

  private static String prefetch(String parameters, int messages) {
    return PREFETCH.matcher(parameters).replaceAll(match -> Long.toString(messages * factor(match.group(1))));
  }

  private static long factor(String text) {
    return text == null ? 1 : Long.parseLong(text);
  }

  private static void append(StringBuilder url, String parameters) {
    for (String parameter : parameters.split(";")) {
      if (!parameter.isBlank()) {
        url.append(url.indexOf("?") < 0 ? '?' : '&').append(parameter.trim());
      }
    }
  }

  int sessionMode(String acknowledge) throws Failure {
    return switch (acknowledge) {
      case "auto" -> Session.AUTO_ACKNOWLEDGE;
      case "client" -> Session.CLIENT_ACKNOWLEDGE;
      case "dups-ok" -> Session.DUPS_OK_ACKNOWLEDGE;
      case "transacted" -> Session.SESSION_TRANSACTED;
      case "least" -> Integer.parseInt(required("least-acknowledge-mode"));
      default -> throw new Failure("config", "acknowledge: '" + acknowledge
          + "' is not one of auto, client, dups-ok, transacted, least", null);
    };
  }

  ConnectionFactory factory(Settings settings) throws Failure {
    String className = required("factory");
    try {
      return (ConnectionFactory) Class.forName(className).getConstructor(String.class).newInstance(url(settings));
    } catch (ClassNotFoundException | NoClassDefFoundError error) {
      throw new Failure("jar", "provider " + name + ": the class " + className
          + " is not on the class path; the provider's client jar is missing", error);
    } catch (InvocationTargetException error) {
      throw new Failure("config", "url: " + settings.url() + ": " + error.getCause().getMessage(), error);
    } catch (ReflectiveOperationException | ClassCastException error) {
      throw new Failure("jar", "provider " + name + ": " + className + " is not a JMS 2.0+ connection factory made from a URL",
          error);
    }
  }
}
