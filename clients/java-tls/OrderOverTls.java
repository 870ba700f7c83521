import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Orders and their cancels over wss, with the JDK's own TLS and WebSocket: the exchange's foreign
 * peer. Start it with {@code java OrderOverTls.java wss://localhost:PORT/ CA.pem ORDERS}. It prints
 * one line for each order, and ends with 1 and the reason if anything fails.
 */
final class OrderOverTls {
  private static final String ORDER =
      """
      {"type":"CREATE_ORDER","order":{"instrument_code":"BTC_USDT","client_id":"java-%d",\
      "side":"BUY","type":"LIMIT","price":"1","amount":"1",\
      "time_in_force":"GOOD_TILL_CANCELLED"}}""";
  private static final String CANCEL =
      """
      {"type":"CANCEL_ORDER","client_id":"java-%d","instrument_code":"BTC_USDT"}""";

  private final BlockingQueue<String> replies = new LinkedBlockingQueue<>();

  public static void main(String[] arguments) throws Exception {
    if (arguments.length != 3) {
      System.err.println("error: give wss://HOST:PORT/, the file of the CA, and a number of orders");
      System.exit(2);
    }
    try {
      new OrderOverTls().run(URI.create(arguments[0]), arguments[1], Integer.parseInt(arguments[2]));
    } catch (Exception failure) {
      Throwable cause = failure;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      System.err.println("error: " + cause);
      System.exit(1);
    }
    // The HTTP client keeps threads.
    System.exit(0);
  }

  private void run(URI exchange, String authority, int orders) throws Exception {
    HttpClient http = HttpClient.newBuilder().sslContext(trusting(authority)).build();
    WebSocket socket =
        http.newWebSocketBuilder()
            .connectTimeout(Duration.ofSeconds(20))
            .buildAsync(exchange, new Listener())
            .join();
    say(socket, "{\"type\":\"AUTHENTICATE\",\"api_token\":\"java\"}");
    awaits("\"AUTHENTICATED\"");
    say(socket, "{\"type\":\"SUBSCRIBE\",\"channels\":[{\"name\":\"ORDERS\"}]}");
    awaits("\"SUBSCRIPTIONS\"");
    for (int order = 0; order < orders; order++) {
      say(socket, ORDER.formatted(order));
      awaits("\"BOOKED\"");
      say(socket, CANCEL.formatted(order));
      awaits("\"CANCELLED\"");
      System.out.println("order " + order + " booked and cancelled");
    }
    socket.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
  }

  /** Trusts this authority and no other; the host's name is checked too. */
  private static SSLContext trusting(String authority) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (FileInputStream file = new FileInputStream(authority)) {
      int entry = 0;
      for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
        store.setCertificateEntry("authority-" + entry++, one);
      }
    }
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLSv1.3");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  private static void say(WebSocket socket, String message) {
    socket.sendText(message, true).join();
  }

  private void awaits(String wanted) throws InterruptedException {
    String reply = replies.poll(20, TimeUnit.SECONDS);
    if (reply == null || !reply.contains(wanted)) {
      throw new IllegalStateException("no " + wanted + " came but " + reply);
    }
  }

  private final class Listener implements WebSocket.Listener {
    private final StringBuilder message = new StringBuilder();

    @Override
    public CompletionStage<?> onText(WebSocket socket, CharSequence part, boolean isLast) {
      message.append(part);
      if (isLast) {
        replies.add(message.toString());
        message.setLength(0);
      }
      socket.request(1);
      return null;
    }

    @Override
    public void onError(WebSocket socket, Throwable error) {
      replies.add("error: " + error);
    }
  }
}
