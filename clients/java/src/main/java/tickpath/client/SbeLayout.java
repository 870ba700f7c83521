package tickpath.client;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The parts of {@code clients/feed/tickpath-orders.xml} that this client needs: templates, and
 * positions of fields in a block. A test compares them with the schema. Fields are read in place in
 * the flat array of a stream.
 */
final class SbeLayout {
    /** The framing header: the frame's length and the encoding, big endian. */
    static final int FRAME_HEAD_BYTES = 6;

    /** Bytes of a frame before its block. */
    static final int HEAD_BYTES = FRAME_HEAD_BYTES + 8;

    static final int FRAME_BYTES_MAX = 1024;
    static final int TEXT_BYTES_MAX = 512;

    /** SBE 1.0, little endian. */
    static final int ENCODING = 0xEB50;

    static final int SCHEMA = 29_802;
    static final int VERSION = 2;

    static final int LOGON = 1;
    static final int LOGON_BYTES = 17;

    static final int LOGON_ACCEPTED = 2;
    static final int LOGON_ACCEPTED_BYTES = 38;
    static final int LOGON_ACCEPTED_INSTRUMENTS = 36;

    static final int INSTRUMENT = 3;
    static final int INSTRUMENT_BYTES = 52;
    static final int INSTRUMENT_CODE = 20;
    static final int CODE_BYTES = 32;

    static final int HEARTBEAT = 4;
    static final int HEARTBEAT_BYTES = 8;

    static final int TERMINATE = 5;

    /** In all requests: the number, then the client id. */
    static final int SEQUENCE = 0;
    static final int REQUEST_CLIENT_ID = 8;

    static final int NEW_ORDER = 10;
    static final int NEW_ORDER_BYTES = 136;
    static final int NEW_ORDER_INSTRUMENT = 71;
    static final int NEW_ORDER_SIDE = 73;
    static final int NEW_ORDER_PRICE = 76;
    static final int NEW_ORDER_AMOUNT = 85;
    static final int NEW_ORDER_DISPLAY_AMOUNT = 94;
    static final int NEW_ORDER_STOP_PRICE = 103;
    static final int NEW_ORDER_TICK = 120;
    static final int NEW_ORDER_RESPONSE_NS = 128;

    static final int CANCEL_ORDER = 11;
    static final int CANCEL_ORDER_BYTES = 73;
    static final int CANCEL_ORDER_INSTRUMENT = 71;

    static final int BOOKED = 50;
    static final int BOOKED_BYTES = 116;
    static final int BOOKED_CLIENT_ID = 32;

    static final int DONE = 52;
    static final int DONE_BYTES = 98;
    static final int DONE_CLIENT_ID = 32;
    static final int DONE_STATUS = 97;
    static final int CANCELLED = 0;

    static final int REJECTED = 58;
    static final int REJECTED_BYTES = 79;
    static final int REJECTED_CLIENT_ID = 16;

    static final int CLIENT_ID_BYTES = 63;

    /** The null of a decimal's mantissa. */
    static final long NULL_MANTISSA = Long.MIN_VALUE;

    /** The null of an unsigned number. */
    static final long NULL_NUMBER = -1;

    /** Position of a decimal's exponent in it. */
    static final int EXPONENT = 8;

    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle LENGTH = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle TYPE = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);

    private SbeLayout() {}

    /** A frame with a block of zeros, and space for {@code textBytes} after it. */
    static byte[] frame(final int template, final int blockBytes, final int textBytes) {
        final byte[] frame = new byte[HEAD_BYTES + blockBytes + textBytes];
        LENGTH.set(frame, 0, frame.length);
        TYPE.set(frame, 4, (short) ENCODING);
        putShort(frame, FRAME_HEAD_BYTES, blockBytes);
        putShort(frame, FRAME_HEAD_BYTES + 2, template);
        putShort(frame, FRAME_HEAD_BYTES + 4, SCHEMA);
        putShort(frame, FRAME_HEAD_BYTES + 6, VERSION);
        return frame;
    }

    /** A frame with a block of zeros and a text. */
    static byte[] frame(final int template, final int blockBytes, final byte[] text) {
        final byte[] frame = frame(template, blockBytes, Short.BYTES + text.length);
        putShort(frame, HEAD_BYTES + blockBytes, text.length);
        System.arraycopy(text, 0, frame, HEAD_BYTES + blockBytes + Short.BYTES, text.length);
        return frame;
    }

    static int frameLength(final byte[] bytes, final int at) {
        return (int) LENGTH.get(bytes, at);
    }

    static int encoding(final byte[] bytes, final int at) {
        return (short) TYPE.get(bytes, at) & 0xffff;
    }

    static int getShort(final byte[] bytes, final int at) {
        return (short) SHORT.get(bytes, at) & 0xffff;
    }

    static void putShort(final byte[] bytes, final int at, final int value) {
        SHORT.set(bytes, at, (short) value);
    }

    static void putLong(final byte[] bytes, final int at, final long value) {
        LONG.set(bytes, at, value);
    }
}
