package tickpath.client;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * An exchange in this process, for rehearsals: a thread per connection that books every order and
 * cancels it. It has nothing to do with the exchange under measurement.
 */
final class StubExchange implements AutoCloseable {
    private static final int BACKLOG = 64;
    /** Its instrument. */
    static final String INSTRUMENT = "BTC_USDT";

    private final ServerSocket listener;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final AtomicLong orders = new AtomicLong();
    private final AtomicLong cancels = new AtomicLong();

    StubExchange() throws IOException {
        listener = new ServerSocket(0, BACKLOG, InetAddress.getByName("127.0.0.1"));
        start("stub-exchange", this::accept);
    }

    /** Orders received on all connections. */
    long orders() {
        return orders.get();
    }

    /** Cancels received on all connections. */
    long cancels() {
        return cancels.get();
    }

    int port() {
        return listener.getLocalPort();
    }

    private static void start(final String name, final Runnable body) {
        ThreadStarter.start(new Thread(body, name));
    }

    private void accept() {
        try {
            while (true) {
                final Socket socket = listener.accept();
                sockets.add(socket);
                start("stub-connection", () -> serve(socket));
            }
        } catch (final IOException e) {
            // The test or the rehearsal has closed the listener.
        }
    }

    private void serve(final Socket socket) {
        int accounts = 0;
        try (socket) {
            socket.setTcpNoDelay(true);
            final DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
            final OutputStream out = socket.getOutputStream();
            if (speaksSbe(in)) {
                new StubSbe(INSTRUMENT, orders, cancels).serve(in, out);
            }
            upgrade(in, out);
            while (true) {
                final String message = message(in);
                if (message == null) {
                    return;
                }
                accounts += message.startsWith("{\"type\":\"AUTHENTICATE\"") ? 1 : 0;
                out.write(frame(message.startsWith("{\"type\":\"SUBSCRIBE\"") ? subscriptions(accounts) : reply(message)));
            }
        } catch (final IOException e) {
            // The rehearsal is over.
        }
    }

    /** A frame's length begins with a zero, and an HTTP request with a letter. */
    private static boolean speaksSbe(final DataInputStream in) throws IOException {
        in.mark(1);
        final int first = in.readUnsignedByte();
        in.reset();
        return first == 0;
    }

    private static void upgrade(final DataInputStream in, final OutputStream out) throws IOException {
        final StringBuilder head = new StringBuilder();
        while (!head.toString().endsWith("\r\n\r\n")) {
            head.append((char) in.readUnsignedByte());
        }
        final String text = head.toString();
        final String name = "Sec-WebSocket-Key: ";
        final int at = text.indexOf(name) + name.length();
        final String key = text.substring(at, text.indexOf("\r\n", at));
        out.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                + WebSocket.accept(key) + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
    }

    /** The next text; null when the client closes. */
    private static String message(final DataInputStream in) throws IOException {
        final int opcode = in.readUnsignedByte() & 0x0f;
        int length = in.readUnsignedByte() & 0x7f;
        if (length == 126) {
            length = in.readUnsignedShort();
        }
        final int mask = Integer.reverseBytes(in.readInt());
        final byte[] payload = in.readNBytes(length);
        Form.mask(payload, 0, length, mask);
        return opcode == WebSocket.CLOSE ? null : new String(payload, StandardCharsets.UTF_8);
    }

    private static byte[] frame(final String text) {
        final byte[] payload = text.getBytes(StandardCharsets.UTF_8);
        final int header = payload.length < 126 ? 2 : 4;
        final byte[] frame = new byte[header + payload.length];
        frame[0] = (byte) (0x80 | WebSocket.TEXT);
        frame[1] = (byte) (header == 2 ? payload.length : 126);
        if (header == 4) {
            frame[2] = (byte) (payload.length >> 8);
            frame[3] = (byte) payload.length;
        }
        System.arraycopy(payload, 0, frame, header, payload.length);
        return frame;
    }

    private static String subscriptions(final int accounts) {
        final String channels = IntStream.rangeClosed(1, accounts)
                .mapToObj(account -> "{\"account_id\":\"" + account + "\",\"name\":\"ORDERS\"}")
                .collect(Collectors.joining(","));
        return "{\"channels\":[" + channels + "],\"time\":1700000000123,\"type\":\"SUBSCRIPTIONS\"}";
    }

    private String reply(final String message) {
        if (message.startsWith("{\"type\":\"AUTHENTICATE\"")) {
            return "{\"type\":\"AUTHENTICATED\"}";
        }
        final String name = "\"client_id\":\"";
        final int at = message.indexOf(name) + name.length();
        final String id = message.substring(at, message.indexOf('"', at));
        final String rest = "\"client_id\":\"" + id + "\",\"instrument_code\":\"BTC_USDT\",\"order_book_sequence\":7,"
                + "\"order_id\":\"00000000-0000-8000-8000-00000000002a\",";
        if (message.startsWith("{\"type\":\"CREATE_ORDER\"")) {
            orders.incrementAndGet();
            return "{\"amount\":\"1\",\"channel_name\":\"TRADING\"," + rest
                    + "\"price\":\"1\",\"side\":\"BUY\",\"time\":1700000000123,\"type\":\"BOOKED\",\"uid\":\"1\"}";
        }
        cancels.incrementAndGet();
        return "{\"channel_name\":\"TRADING\"," + rest
                + "\"status\":\"CANCELLED\",\"time\":1700000000123,\"type\":\"DONE\",\"uid\":\"1\"}";
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (final Socket socket : sockets) {
            socket.close();
        }
    }
}
