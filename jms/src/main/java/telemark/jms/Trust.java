package telemark.jms;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/** Whom this JVM believes. It becomes the JVM's default TLS context, which every provider can be told to use. */
final class Trust {
  private Trust() {}

  static void install(Settings.Tls tls) throws Failure {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, tls.verify() ? authorities(tls.ca()) : new TrustManager[] {new Anybody()}, null);
      SSLContext.setDefault(context);
    } catch (IOException | GeneralSecurityException error) {
      throw new Failure("config", "tls.ca: " + tls.ca() + ": no certificate authorities in PEM form: " + error, error);
    }
  }

  /** Those of the file; the JVM's own without one. */
  static TrustManager[] authorities(String ca) throws IOException, GeneralSecurityException {
    TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(ca == null ? null : store(Path.of(ca)));
    return factory.getTrustManagers();
  }

  private static KeyStore store(Path ca) throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    try (InputStream file = new BufferedInputStream(Files.newInputStream(ca))) {
      for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
        store.setCertificateEntry("ca-" + store.size(), each);
      }
    }
    if (store.size() == 0) {
      throw new IOException("the file is empty");
    }
    return store;
  }

  /** For users who switched verification off. The extended form, so that host names are not looked at either. */
  private static final class Anybody extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
