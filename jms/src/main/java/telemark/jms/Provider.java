package telemark.jms;

import jakarta.jms.ConnectionFactory;
import jakarta.jms.Session;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;

/** What differs between JMS providers, read from a properties file: a name of ours or the path of the user's own. */
final class Provider {
  private static final Pattern PREFETCH = Pattern.compile("\\{prefetch(?:\\*\\(payload\\+(\\d+)\\))?}");

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
    for (String parameter : parts("url-parameters", settings)) {
      url.append(url.indexOf("?") < 0 ? '?' : '&').append(parameter);
    }
    return url.toString();
  }

  /** The parts of a property that apply to this run, with values for what stands in braces. */
  private List<String> parts(String key, Settings settings) {
    List<String> texts = new ArrayList<>(List.of(properties.getProperty(key, "")));
    if (settings.acknowledge().equals("least")) {
      texts.add(properties.getProperty("least-" + key, ""));
    }
    if (settings.tls() != null) {
      texts.add(properties.getProperty("tls-" + key, ""));
    }
    String filled = fill(String.join(";", texts), settings);
    return Arrays.stream(filled.split(";")).map(String::trim).filter(part -> !part.isEmpty()).toList();
  }

  private static String fill(String text, Settings settings) {
    String filled = PREFETCH.matcher(text).replaceAll(match -> Long.toString(prefetch(settings, match.group(1))));
    if (settings.tls() != null) {
      filled = filled.replace("{verify}", String.valueOf(settings.tls().verify()));
    }
    return filled.replace("{host}", String.valueOf(settings.address().getHost()))
        .replace("{port}", String.valueOf(settings.address().getPort()));
  }

  /** Messages, or the bytes they take with that many bytes of headers each; clients count both as 32-bit numbers. */
  private static long prefetch(Settings settings, String headers) {
    if (headers == null) {
      return settings.prefetch();
    }
    long bytes = settings.prefetch() * (settings.payload() + Long.parseLong(headers));
    return Math.min(bytes, Integer.MAX_VALUE);
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

  /** Whether a session of this mode is transacted, which JMS 1.1 wants to know apart from the mode. */
  static boolean transacted(int sessionMode) {
    return sessionMode == Session.SESSION_TRANSACTED;
  }

  ConnectionFactory factory(Settings settings) throws Failure {
    String made = required("factory");
    try {
      String arguments = properties.getProperty("factory-arguments", "{url}").replace("{url}", url(settings));
      Object factory = Factories.make(made, fill(arguments, settings));
      for (String property : parts("factory-properties", settings)) {
        Factories.set(factory, property);
      }
      return (ConnectionFactory) factory;
    } catch (ClassNotFoundException | NoClassDefFoundError error) {
      throw new Failure("jar", "provider " + name + ": the class " + error.getMessage()
          + " is not on the class path; the provider's client jar is missing", error);
    } catch (InvocationTargetException error) {
      throw new Failure("config", "url: " + settings.url() + ": " + error.getCause().getMessage(), error);
    } catch (ReflectiveOperationException error) {
      throw new Failure("config", "provider " + name + ": factory " + made + ": " + error.getMessage(), error);
    } catch (ClassCastException error) {
      throw new Failure("jar", "provider " + name + ": " + made + " gives no " + ConnectionFactory.class.getName(), error);
    }
  }
}
