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
 * Orders and their cancels over wss, with the JDK's TLS and WebSocket, as an independent peer of
 * the exchange. Start it with {@code java OrderOverTls.java wss://localhost:PORT/ CA.pem ORDERS}.
 * It prints one line for each order, and ends with 1 and the reason if anything fails.
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
      System.err.println("error: the arguments are wss://HOST:PORT/, the CA's file and the number of orders");
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
    // The threads of the HTTP client would keep the process alive.
    System.exit(0);
  }

  private void run(URI exchange, String authority, int orders) throws Exception {
    HttpClient http = HttpClient.newBuilder().sslContext(trusting(authority)).build();
    WebSocket socket =
        http.newWebSocketBuilder()
            .connectTimeout(Duration.ofSeconds(20))
            .buildAsync(exchange, new Listener())
            .join();
    send(socket, "{\"type\":\"AUTHENTICATE\",\"api_token\":\"java\"}");
    await("\"AUTHENTICATED\"");
    send(socket, "{\"type\":\"SUBSCRIBE\",\"channels\":[{\"name\":\"ORDERS\"}]}");
    await("\"SUBSCRIPTIONS\"");
    for (int order = 0; order < orders; order++) {
      send(socket, ORDER.formatted(order));
      await("\"BOOKED\"");
      send(socket, CANCEL.formatted(order));
      await("\"CANCELLED\"");
      System.out.println("order " + order + " booked and cancelled");
    }
    socket.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
  }

  /** Trusts only this authority. The client also checks the host's name. */
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

  private static void send(WebSocket socket, String message) {
    socket.sendText(message, true).join();
  }

  private void await(String wanted) throws InterruptedException {
    String reply = replies.poll(20, TimeUnit.SECONDS);
    if (reply == null || !reply.contains(wanted)) {
      throw new IllegalStateException("expected " + wanted + ", got " + reply);
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
