package telemark.jms;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Talks JSON lines. Standard input: the settings, then {"do":"clock"}, {"do":"start"}, {"do":"stop","unsubscribe":bool}; its
 * end means the parent has gone. Standard output: ready, clock, counters once a second, stopped, failed.
 */
public final class Main {
  private static final long FLUSH_MS = 200;
  private final PrintStream out;
  private final ScheduledExecutorService ticker = Executors.newSingleThreadScheduledExecutor(task -> {
    Thread thread = new Thread(task, "ticker");
    thread.setDaemon(true);
    return thread;
  });

  private Main(PrintStream out) {
    this.out = out;
  }

  /** Exit code 0 after an orderly stop, 1 after a failure that was reported on standard output. */
  public static void main(String[] arguments) throws IOException {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // whatever a provider prints must not get between our lines
    Main main = new Main(out);
    try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      main.run(in);
      System.exit(0);
    } catch (Failure failure) {
      main.fail(failure);
    }
  }

  private void run(BufferedReader in) throws IOException, Failure {
    Settings settings = Settings.parse(in.readLine());
    Application application = new Application(settings, this::fail);
    application.subscribe();
    say("ready", Map.of("consumers", settings.consumers().size()));
    ticker.scheduleAtFixedRate(() -> tick(application), FLUSH_MS, FLUSH_MS, TimeUnit.MILLISECONDS);
    ticker.scheduleAtFixedRate(() -> say("counters", counters(application)), 1, 1, TimeUnit.SECONDS);
    String line;
    while ((line = in.readLine()) != null) {
      JsonObject command = JsonParser.parseString(line).getAsJsonObject();
      String action = command.get("do").getAsString();
      switch (action) {
        case "clock" -> say("clock", Map.of("ns", System.nanoTime()));
        case "start" -> application.start();
        case "stop" -> {
          stop(application, command.has("unsubscribe") && command.get("unsubscribe").getAsBoolean());
          return;
        }
        default -> throw new Failure("config", "do: '" + action + "' is not one of clock, start, stop", null);
      }
    }
    stop(application, false);
  }

  private void stop(Application application, boolean unsubscribe) throws Failure {
    application.close(unsubscribe);
    ticker.shutdown();
    say("stopped", counters(application));
  }

  private void tick(Application application) {
    try {
      application.flush();
    } catch (Failure failure) {
      fail(failure);
    }
  }

  private Map<String, Object> counters(Application application) {
    Map<String, Object> counters = new LinkedHashMap<>();
    counters.put("time_ns", System.nanoTime());
    counters.put("received", application.subscribers().stream().mapToLong(Subscriber::received).sum());
    counters.put("bytes", application.subscribers().stream().mapToLong(Subscriber::bytes).sum());
    counters.put("heap_bytes", ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
    long collections = 0;
    long milliseconds = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      collections += collector.getCollectionCount();
      milliseconds += collector.getCollectionTime();
    }
    counters.put("gc_count", collections);
    counters.put("gc_ms", milliseconds);
    return counters;
  }

  /** Reports and ends the JVM at once: rows written so far are safe, the rest is the server's to deliver again. */
  private synchronized void fail(Failure failure) {
    say("failed", Map.of("kind", failure.kind(), "message", String.valueOf(failure.getMessage())));
    Runtime.getRuntime().halt(1);
  }

  private synchronized void say(String what, Map<String, ?> facts) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("is", what);
    line.putAll(facts);
    out.println(new Gson().toJson(line));
  }
}
