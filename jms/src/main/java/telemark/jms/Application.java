package telemark.jms;

import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.JMSException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** The back-end application of one run: a connection and a consumer for each subscription asked for. */
final class Application {
  private final Settings settings;
  private final Provider provider;
  private final RowFile file;
  private final List<Connection> connections = new ArrayList<>();
  private final List<Subscriber> subscribers = new ArrayList<>();
  private final Consumer<Failure> onFailure;
  private volatile boolean closing;

  Application(Settings settings, Consumer<Failure> onFailure) throws Failure {
    this.settings = settings;
    this.onFailure = onFailure;
    provider = Provider.load(settings.provider());
    if (settings.shared() && !provider.shares()) {
      throw new Failure("subscribe", "subscription: shared: " + provider.whyNotShared(), null);
    }
    try {
      file = new RowFile(Path.of(settings.rowsFile()));
    } catch (IOException error) {
      throw new Failure("record", "rows_file: " + error, error);
    }
  }

  /** Connects and subscribes everything; no message flows yet. */
  void subscribe() throws Failure {
    if (settings.tls() != null) {
      Trust.install(settings.tls());
    }
    ConnectionFactory factory = provider.factory(settings);
    for (Settings.Consumer wanted : settings.consumers()) {
      Connection connection = connect(factory, wanted.subscription());
      connections.add(connection);
      subscribers.add(new Subscriber(settings, provider, connection, wanted, file, onFailure));
    }
  }

  private Connection connect(ConnectionFactory factory, int number) throws Failure {
    try {
      Connection connection = settings.username() == null
          ? factory.createConnection()
          : factory.createConnection(settings.username(), settings.password());
      if (settings.durable() && !settings.shared()) {
        connection.setClientID(settings.shareName() + "-" + number); // a durable subscription belongs to a client id
      }
      connection.setExceptionListener(error -> {
        if (!closing) {
          onFailure.accept(new Failure("receive", "connection lost: " + error.getMessage(), error));
        }
      });
      return connection;
    } catch (JMSException error) {
      throw new Failure("connect", "url: " + settings.url() + ": " + error.getMessage(), error);
    }
  }

  /** Lets the messages flow. */
  void start() throws Failure {
    try {
      for (Subscriber subscriber : subscribers) {
        subscriber.listen();
      }
      for (Connection connection : connections) {
        connection.start();
      }
    } catch (JMSException error) {
      throw new Failure("connect", "start: " + error.getMessage(), error);
    }
  }

  void flush() throws Failure {
    if (settings.acknowledgesItself()) {
      return; // rows go to disk together with their acknowledgement
    }
    try {
      for (Subscriber subscriber : subscribers) {
        subscriber.flush();
      }
    } catch (IOException error) {
      throw new Failure("record", "rows_file: " + error, error);
    }
  }

  /** Stops in order: no new messages, the rest acknowledged and recorded, subscriptions given up if asked. */
  void close(boolean unsubscribe) throws Failure {
    closing = true;
    try {
      for (Connection connection : connections) {
        connection.stop(); // returns when no listener is running any more
      }
      for (Subscriber subscriber : subscribers) {
        subscriber.finish();
      }
      if (unsubscribe && settings.durable()) {
        // A shared durable subscription is one for all its consumers: the first gives it up for the others.
        for (Subscriber subscriber : settings.shared() ? subscribers.subList(0, 1) : subscribers) {
          subscriber.unsubscribe();
        }
      }
      for (Connection connection : connections) {
        connection.close();
      }
      file.close();
    } catch (JMSException | IOException error) {
      throw new Failure("receive", "stop: " + error.getMessage(), error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new Failure("receive", "stop: interrupted", error);
    }
  }

  List<Subscriber> subscribers() {
    return subscribers;
  }
}
