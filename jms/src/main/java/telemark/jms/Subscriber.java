package telemark.jms;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.Session;
import jakarta.jms.Topic;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * One JMS consumer with a session of its own: stamps, records and acknowledges what it receives.
 *
 * <p>Rows are written before the messages they describe are acknowledged or committed by us: a message that the server
 * will not deliver again has its row, whatever happens to this JVM. In the modes in which the provider acknowledges, rows
 * are written every fifth of a second.
 */
final class Subscriber {
  private static final int BLOCK_ROWS = 8192;
  private static final long POLL_MS = 200;

  private final Settings settings;
  private final Session session;
  private final MessageConsumer consumer;
  private final RowFile file;
  private final RowBlock block;
  private final Consumer<Failure> onFailure;
  private final AtomicLong received = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();
  private final byte[] head = new byte[Stamp.BYTES];
  private Message lastUnacknowledged;
  private int unacknowledged;
  private volatile boolean stopping;
  private Thread receiver;

  Subscriber(Settings settings, Provider provider, Connection connection, Settings.Consumer wanted, RowFile file,
      Consumer<Failure> onFailure) throws Failure {
    this.settings = settings;
    this.file = file;
    this.onFailure = onFailure;
    block = new RowBlock(BLOCK_ROWS, wanted.subscription(), settings.qos());
    String destination = provider.destination(wanted.topic());
    try {
      int mode = provider.sessionMode(settings.acknowledge());
      session = connection.createSession(Provider.transacted(mode), mode);
      consumer = subscribe(session.createTopic(destination));
    } catch (JMSException | UnsupportedOperationException | AbstractMethodError error) {
      throw new Failure("subscribe", "subscription to " + destination + ": " + error.getMessage(), error);
    }
  }

  private MessageConsumer subscribe(Topic topic) throws JMSException {
    if (settings.shared()) {
      return settings.durable() ? session.createSharedDurableConsumer(topic, name()) : session.createSharedConsumer(topic, name());
    }
    // JMS 1.1 calls, so that older clients plug in; only sharing needs JMS 2.0.
    return settings.durable() ? session.createDurableSubscriber(topic, name()) : session.createConsumer(topic);
  }

  /** Begins to take messages; they flow once the connection is started. */
  void listen() throws JMSException {
    if (!settings.blocking()) {
      consumer.setMessageListener(this::take);
      return;
    }
    receiver = new Thread(this::receive, "receiver-" + settings.shareName());
    receiver.setDaemon(true);
    receiver.start();
  }

  private void receive() {
    try {
      while (!stopping) {
        Message message = consumer.receive(POLL_MS);
        if (message != null) {
          take(message);
        }
      }
    } catch (JMSException error) {
      if (!stopping) {
        onFailure.accept(new Failure("receive", "receive: " + error.getMessage(), error));
      }
    }
  }

  private void take(Message message) {
    long now = System.nanoTime();
    try {
      BytesMessage body = (BytesMessage) message;
      int size = (int) body.getBodyLength();
      Stamp stamp = Stamp.read(head, body.readBytes(head));
      record(stamp, now, size, message.getJMSRedelivered());
      if (settings.acknowledgesItself()) {
        lastUnacknowledged = message;
        if (++unacknowledged >= settings.acknowledgeEvery()) {
          acknowledge();
        }
      }
    } catch (ClassCastException error) {
      onFailure.accept(new Failure("receive", "a " + message.getClass().getSimpleName() + " arrived, not a BytesMessage", error));
    } catch (JMSException error) {
      onFailure.accept(new Failure("receive", "message: " + error.getMessage(), error));
    } catch (IOException error) {
      onFailure.accept(new Failure("record", settings.rowsFile() + ": " + error.getMessage(), error));
    }
  }

  private void record(Stamp stamp, long now, int size, boolean redelivered) throws IOException {
    synchronized (block) {
      block.add(stamp, now, size, redelivered);
      if (block.full()) {
        file.append(block.take());
      }
    }
    received.incrementAndGet();
    bytes.addAndGet(size);
  }

  private void acknowledge() throws JMSException, IOException {
    flush();
    if (settings.acknowledge().equals("transacted")) {
      session.commit();
    } else {
      lastUnacknowledged.acknowledge();
    }
    unacknowledged = 0;
    lastUnacknowledged = null;
  }

  /** Writes the rows gathered so far. */
  void flush() throws IOException {
    synchronized (block) {
      if (!block.empty()) {
        file.append(block.take());
      }
    }
  }

  /** Acknowledges the rest and stops consuming; the connection must be stopped, so that no message is being taken. */
  void finish() throws JMSException, IOException, InterruptedException {
    stopping = true;
    if (receiver != null) {
      receiver.join(5 * POLL_MS);
    }
    if (unacknowledged > 0) {
      acknowledge();
    }
    flush();
    consumer.close();
  }

  /** Gives the durable subscription up; all its consumers must have finished. */
  void unsubscribe() throws JMSException {
    session.unsubscribe(name());
  }

  private String name() {
    return settings.shared() ? settings.shareName() : settings.shareName() + "-" + block.subscription();
  }

  long received() {
    return received.get();
  }

  long bytes() {
    return bytes.get();
  }
}
