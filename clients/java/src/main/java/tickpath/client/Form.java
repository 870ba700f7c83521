package tickpath.client;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import tickpath.shared.Json;

/**
 * An encoded message of one account, without the order's number and the mask. Encoding an order
 * copies it, writes twelve digits, and applies the mask eight bytes at a time.
 */
final class Form {
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final int MASK_BYTES = 4;

    /** Header, a mask of zeros, and the text. */
    private final byte[] frame;
    private final int textAt;
    private final int numberAt;

    /**
     * Makes a form of {@code text}.
     *
     * @param clientId the client id in the text, whose number each order replaces; null: the text
     *     has none
     */
    Form(final String text, final String clientId) {
        frame = WebSocket.unmaskedClientFrame(WebSocket.TEXT, text.getBytes(StandardCharsets.UTF_8));
        textAt = frame.length - text.getBytes(StandardCharsets.UTF_8).length;
        final int idAt = clientId == null ? -1 : text.indexOf(clientId);
        numberAt = idAt < 0 ? -1 : textAt + idAt + ClientIds.NUMBER_AT;
    }

    static Form order(final Plan.Load load, final String clientId, final String account) {
        return new Form(
                "{\"type\":\"CREATE_ORDER\",\"order\":{\"instrument_code\":" + Json.quoted(load.instrument()) + ",\"client_id\":\""
                        + clientId + "\",\"side\":" + Json.quoted(load.side()) + ",\"type\":\"LIMIT\",\"price\":"
                        + Json.quoted(load.price()) + ",\"amount\":" + Json.quoted(load.amount())
                        + ",\"time_in_force\":\"GOOD_TILL_CANCELLED\"}" + account(account) + "}",
                clientId);
    }

    static Form cancel(final Plan.Load load, final String clientId, final String account) {
        return new Form(
                "{\"type\":\"CANCEL_ORDER\",\"client_id\":\"" + clientId + "\",\"instrument_code\":"
                        + Json.quoted(load.instrument()) + account(account) + "}",
                clientId);
    }

    private static String account(final String account) {
        return account == null ? "" : ",\"account_id\":" + Json.quoted(account);
    }

    /** Length of the frame. */
    int bytes() {
        return frame.length;
    }

    /** Encodes the message into {@code out} from its beginning. */
    void encode(final byte[] out, final long number, final int mask) {
        System.arraycopy(frame, 0, out, 0, frame.length);
        if (numberAt >= 0) {
            ClientIds.putNumber(out, numberAt, number);
        }
        INT.set(out, textAt - MASK_BYTES, mask);
        mask(out, textAt, frame.length, mask);
    }

    /** Applies a mask, little endian, to the bytes from {@code from} to {@code to}. */
    static void mask(final byte[] bytes, final int from, final int to, final int mask) {
        final long word = (mask & 0xffff_ffffL) << 32 | mask & 0xffff_ffffL;
        int at = from;
        for (; at + Long.BYTES <= to; at += Long.BYTES) {
            LONG.set(bytes, at, (long) LONG.get(bytes, at) ^ word);
        }
        for (int shift = 0; at < to; at++, shift += Byte.SIZE) {
            bytes[at] ^= (byte) (word >>> shift);
        }
    }
}
