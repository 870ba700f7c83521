package tickpath.client;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Locale;

/** The parts of RFC 6455 that this client needs. */
final class WebSocket {
    static final int CONTINUATION = 0;
    static final int TEXT = 1;
    static final int BINARY = 2;
    static final int CLOSE = 8;
    static final int PING = 9;
    static final int PONG = 10;

    private static final String GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    private static final int SHORT_MAX = 125;
    private static final int MEDIUM_MAX = 0xffff;
    private static final int MASK_BYTES = 4;

    private WebSocket() {}

    /** A client's frame with a mask of zeros. */
    static byte[] unmaskedClientFrame(final int opcode, final byte[] payload) {
        if (payload.length > MEDIUM_MAX) {
            throw new IllegalArgumentException("a message of " + payload.length + " bytes: the limit is " + MEDIUM_MAX);
        }
        final int header = payload.length <= SHORT_MAX ? 2 : 4;
        final ByteBuffer frame = ByteBuffer.allocate(header + MASK_BYTES + payload.length);
        frame.put((byte) (0x80 | opcode));
        if (payload.length <= SHORT_MAX) {
            frame.put((byte) (0x80 | payload.length));
        } else {
            frame.put((byte) (0x80 | 126)).putShort((short) payload.length);
        }
        frame.putInt(0).put(payload);
        return frame.array();
    }

    /** A client's frame. */
    static byte[] clientFrame(final int opcode, final byte[] payload, final int mask) {
        final byte[] frame = unmaskedClientFrame(opcode, payload);
        final int textAt = frame.length - payload.length;
        ByteBuffer.wrap(frame).putInt(textAt - MASK_BYTES, Integer.reverseBytes(mask));
        Form.mask(frame, textAt, frame.length, mask);
        return frame;
    }

    static String key(final long a, final long b) {
        return Base64.getEncoder().encodeToString(ByteBuffer.allocate(16).putLong(a).putLong(b).array());
    }

    static String upgradeRequest(final String host, final String key) {
        return "GET / HTTP/1.1\r\nHost: " + host + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + "\r\n\r\n";
    }

    static String accept(final String key) {
        try {
            final MessageDigest sha1 = MessageDigest.getInstance("SHA-1");
            return Base64.getEncoder().encodeToString(sha1.digest((key + GUID).getBytes(StandardCharsets.US_ASCII)));
        } catch (final NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Checks the head of a response, without its last empty line.
     *
     * @return an error message; null if the response is right
     */
    static String complaintAboutUpgrade(final String head, final String key) {
        final String[] lines = head.split("\r\n");
        final String[] status = lines[0].split(" ", 3);
        if (status.length < 2 || !status[0].startsWith("HTTP/1.")) {
            return "the server's answer is not HTTP: " + lines[0];
        }
        if (!status[1].equals("101")) {
            return "the server answers " + lines[0] + ", not 101: it does not upgrade to a WebSocket";
        }
        String accepted = null;
        String upgrade = null;
        for (int line = 1; line < lines.length; line++) {
            final int colon = lines[line].indexOf(':');
            final String name = colon < 0 ? "" : lines[line].substring(0, colon).toLowerCase(Locale.ROOT);
            final String value = lines[line].substring(colon + 1).strip();
            if (name.equals("sec-websocket-accept")) {
                accepted = value;
            } else if (name.equals("upgrade")) {
                upgrade = value;
            }
        }
        if (upgrade == null || !upgrade.equalsIgnoreCase("websocket")) {
            return "the server's answer has no `Upgrade: websocket`";
        }
        return accept(key).equals(accepted) ? null : "the server's Sec-WebSocket-Accept is not that of the key";
    }
}
