package tickpath.client;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;

/**
 * An encoded message of one lane, without its number and the order's. Encoding an order copies it
 * and writes both.
 */
final class SbeForm {
    private static final int SEQUENCE_AT = SbeLayout.HEAD_BYTES + SbeLayout.SEQUENCE;
    private static final int CLIENT_ID_AT = SbeLayout.HEAD_BYTES + SbeLayout.REQUEST_CLIENT_ID;

    private final byte[] frame;

    /** @param clientId the client id, whose number each order replaces */
    private SbeForm(final byte[] frame, final String clientId) {
        this.frame = frame;
        final byte[] id = clientId.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(id, 0, frame, CLIENT_ID_AT, id.length);
    }

    /** A limit order, good till cancelled: the values of the enumerations are zeros. */
    static SbeForm order(final Plan.Load load, final String clientId, final int instrument) {
        final byte[] frame = SbeLayout.frame(SbeLayout.NEW_ORDER, SbeLayout.NEW_ORDER_BYTES, 0);
        SbeLayout.putShort(frame, SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_INSTRUMENT, instrument);
        frame[SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_SIDE] = (byte) (load.side().equals("BUY") ? 0 : 1);
        put(frame, SbeLayout.NEW_ORDER_PRICE, load.price());
        put(frame, SbeLayout.NEW_ORDER_AMOUNT, load.amount());
        SbeLayout.putLong(frame, SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_DISPLAY_AMOUNT, SbeLayout.NULL_MANTISSA);
        SbeLayout.putLong(frame, SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_STOP_PRICE, SbeLayout.NULL_MANTISSA);
        SbeLayout.putLong(frame, SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_TICK, SbeLayout.NULL_NUMBER);
        SbeLayout.putLong(frame, SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_RESPONSE_NS, SbeLayout.NULL_NUMBER);
        return new SbeForm(frame, clientId);
    }

    static SbeForm cancel(final String clientId, final int instrument) {
        final byte[] frame = SbeLayout.frame(SbeLayout.CANCEL_ORDER, SbeLayout.CANCEL_ORDER_BYTES, 0);
        SbeLayout.putShort(frame, SbeLayout.HEAD_BYTES + SbeLayout.CANCEL_ORDER_INSTRUMENT, instrument);
        return new SbeForm(frame, clientId);
    }

    private static void put(final byte[] frame, final int field, final String text) {
        final BigDecimal number = new BigDecimal(text);
        SbeLayout.putLong(frame, SbeLayout.HEAD_BYTES + field, number.unscaledValue().longValueExact());
        frame[SbeLayout.HEAD_BYTES + field + SbeLayout.EXPONENT] = (byte) -number.scale();
    }

    /** Length of the frame. */
    int bytes() {
        return frame.length;
    }

    /** Encodes the message into {@code out} from its beginning. */
    void encode(final byte[] out, final long sequence, final long number) {
        System.arraycopy(frame, 0, out, 0, frame.length);
        SbeLayout.putLong(out, SEQUENCE_AT, sequence);
        ClientIds.putNumber(out, CLIENT_ID_AT + ClientIds.NUMBER_AT, number);
    }
}
