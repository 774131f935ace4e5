import com.hivemq.embedded.EmbeddedExtension;
import com.hivemq.embedded.EmbeddedHiveMQ;
import com.hivemq.extension.sdk.api.ExtensionMain;
import com.hivemq.extension.sdk.api.auth.SimpleAuthenticator;
import com.hivemq.extension.sdk.api.parameter.*;
import com.hivemq.extension.sdk.api.services.Services;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Runs HiveMQ Community Edition inside this JVM. Arguments: configuration folder, data folder, host, metrics port. */
public class HiveMq {
    static class AllowAll implements ExtensionMain {
        public void extensionStart(ExtensionStartInput input, ExtensionStartOutput output) {
            SimpleAuthenticator everybody = (in, out) -> out.authenticateSuccessfully();
            Services.securityRegistry().setAuthenticatorProvider(each -> everybody);
        }

        public void extensionStop(ExtensionStopInput input, ExtensionStopOutput output) {}
    }

    public static void main(String[] arguments) throws Exception {
        EmbeddedExtension allowAll = EmbeddedExtension.builder()
                .withId("telemark-allow-all").withName("allow all").withVersion("1").withAuthor("telemark")
                .withExtensionMain(new AllowAll()).build();
        EmbeddedHiveMQ server = EmbeddedHiveMQ.builder()
                .withConfigurationFolder(Path.of(arguments[0])).withDataFolder(Path.of(arguments[1]))
                .withExtensionsFolder(Path.of(arguments[0])).withEmbeddedExtension(allowAll).build();
        server.start().join();
        HttpServer metrics = HttpServer.create(new InetSocketAddress(arguments[2], Integer.parseInt(arguments[3])), 0);
        metrics.createContext("/", exchange -> {
            StringBuilder text = new StringBuilder();
            server.getMetricRegistry().getCounters().forEach((name, counter) -> line(text, name, counter.getCount()));
            server.getMetricRegistry().getMeters().forEach((name, meter) -> line(text, name, meter.getCount()));
            server.getMetricRegistry().getGauges().forEach((name, gauge) -> line(text, name, gauge.getValue()));
            byte[] body = text.toString().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        metrics.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> server.stop().join()));
    }

    private static void line(StringBuilder text, String name, Object value) {
        if (value instanceof Number) text.append(name).append(' ').append(value).append('\n');
    }
}
