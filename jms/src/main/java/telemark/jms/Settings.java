package telemark.jms;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import com.google.gson.annotations.SerializedName;
import java.net.URI;
import java.util.List;

/** The first line of standard input: what to consume, and how. The password comes in an environment variable. */
final class Settings {
  /** One consumer: the MQTT filter it stands for and its subscription's number in the run. */
  record Consumer(String topic, int subscription) {}

  /** How the server is known to be the right one: by the authorities of a PEM file, or of the JVM when there is none. */
  record Tls(String ca, boolean verify) {}

  private String provider;
  private String url;
  private String username;

  @SerializedName("password_env")
  private String passwordEnv;

  private List<Consumer> consumers = List.of();
  private String subscription = "plain";

  @SerializedName("share_name")
  private String shareName = "telemark";

  private String receive = "listener";
  private String acknowledge = "auto";

  @SerializedName("acknowledge_every")
  private int acknowledgeEvery = 1;

  private int prefetch = 1000;
  private int payload = 32;
  private int qos;

  @SerializedName("rows_file")
  private String rowsFile;

  private Tls tls;

  /** Reads and checks the settings; the message names the field and what it may be. */
  static Settings parse(String line) throws Failure {
    Settings settings;
    try {
      settings = new Gson().fromJson(line, Settings.class);
    } catch (JsonParseException error) {
      throw new Failure("config", "settings: not the JSON that was expected: " + error.getMessage(), error);
    }
    if (settings == null) {
      throw new Failure("config", "settings: no line on standard input", null);
    }
    settings.check();
    return settings;
  }

  private void check() throws Failure {
    present("provider", provider);
    present("url", url);
    try {
      address();
    } catch (IllegalArgumentException error) {
      throw new Failure("config", "url: " + error.getMessage(), error);
    }
    present("rows_file", rowsFile);
    oneOf("subscription", subscription, List.of("plain", "durable", "shared", "shared-durable"));
    oneOf("receive", receive, List.of("listener", "blocking"));
    oneOf("acknowledge", acknowledge, List.of("auto", "client", "dups-ok", "transacted", "least"));
    atLeastOne("consumers", consumers.size());
    atLeastOne("acknowledge_every", acknowledgeEvery);
    atLeastOne("prefetch", prefetch);
    atLeastOne("payload", payload);
  }

  private static void present(String field, String value) throws Failure {
    if (value == null || value.isBlank()) {
      throw new Failure("config", field + ": missing", null);
    }
  }

  private static void oneOf(String field, String value, List<String> allowed) throws Failure {
    if (!allowed.contains(value)) {
      throw new Failure("config", field + ": '" + value + "' is not one of " + String.join(", ", allowed), null);
    }
  }

  private static void atLeastOne(String field, int value) throws Failure {
    if (value < 1) {
      throw new Failure("config", field + ": " + value + " is less than 1", null);
    }
  }

  String provider() {
    return provider;
  }

  String url() {
    return url;
  }

  /** The URL taken apart, for providers that want host and port. */
  URI address() {
    return URI.create(url);
  }

  String username() {
    return username;
  }

  String password() {
    return passwordEnv == null ? null : System.getenv(passwordEnv);
  }

  List<Consumer> consumers() {
    return consumers;
  }

  boolean shared() {
    return subscription.startsWith("shared");
  }

  boolean durable() {
    return subscription.endsWith("durable");
  }

  String shareName() {
    return shareName;
  }

  boolean blocking() {
    return receive.equals("blocking");
  }

  String acknowledge() {
    return acknowledge;
  }

  /** Whether this program says when a message is done, rather than the provider. */
  boolean acknowledgesItself() {
    return acknowledge.equals("client") || acknowledge.equals("transacted");
  }

  int acknowledgeEvery() {
    return acknowledgeEvery;
  }

  int prefetch() {
    return prefetch;
  }

  /** Bytes of the largest message. */
  int payload() {
    return payload;
  }

  int qos() {
    return qos;
  }

  String rowsFile() {
    return rowsFile;
  }

  /** Null for a connection without TLS. */
  Tls tls() {
    return tls;
  }
}
