package tickpath.client;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Takes WebSocket frames out of a stream. */
final class FrameReader extends StreamReader {
    /** Limit on the length of a message. */
    static final int MESSAGE_BYTES_MAX = 128 * 1024;

    private static final int FIN = 0x80;
    private static final int RESERVED = 0x70;
    private static final int MASKED = 0x80;
    private static final int CONTROL_BYTES_MAX = 125;
    private static final int MEDIUM_MAX = 0xffff;
    private static final String OVERLONG = "a frame's length has more bytes than it needs";

    private byte[] payload;
    private int payloadAt;
    private int payloadEnd;

    private ByteArrayOutputStream fragments;
    private int fragmentsOpcode;
    private int fragmentsFrameBytes;
    private long fragmentsNs;

    FrameReader() {
        super(2 * MESSAGE_BYTES_MAX);
    }

    /** The opcode of the next message; {@link #NONE} or {@link #BROKEN}. */
    int next() {
        while (true) {
            final int opcode = frame();
            if (opcode < 0) {
                return opcode;
            }
            final boolean isLast = (bytes[frameAt] & FIN) != 0;
            if (opcode >= WebSocket.CLOSE || isLast && opcode != WebSocket.CONTINUATION && fragments == null) {
                return opcode;
            }
            final int whole = fragment(opcode, isLast);
            if (whole != NONE) {
                return whole;
            }
        }
    }

    private int frameAt;

    /** Takes one frame, and stores the place of its payload. */
    private int frame() {
        final int there = end - start;
        if (there < 2) {
            return NONE;
        }
        final int first = bytes[start] & 0xff;
        final int second = bytes[start + 1] & 0xff;
        if ((first & RESERVED) != 0 || (second & MASKED) != 0) {
            return broken((first & RESERVED) != 0 ? "a frame has reserved bits" : "a server's frame is masked");
        }
        int header = 2;
        long length = second;
        if (length == 126) {
            header = 4;
            if (there < header) {
                return NONE;
            }
            length = (bytes[start + 2] & 0xff) << 8 | bytes[start + 3] & 0xff;
            if (length < 126) {
                return broken(OVERLONG);
            }
        } else if (length == 127) {
            header = 10;
            if (there < header) {
                return NONE;
            }
            length = 0;
            for (int index = 2; index < header; index++) {
                length = length << 8 | bytes[start + index] & 0xff;
            }
            if (length >= 0 && length <= MEDIUM_MAX) {
                return broken(OVERLONG);
            }
        }
        if (length < 0 || length > MESSAGE_BYTES_MAX) {
            return broken("a frame of " + Long.toUnsignedString(length) + " bytes: the limit is " + MESSAGE_BYTES_MAX);
        }
        if (there < header + length) {
            return NONE;
        }
        frameAt = start;
        payload = bytes;
        payloadAt = start + header;
        payloadEnd = payloadAt + (int) length;
        take(header + (int) length);
        return checked(first & 0x0f, (first & FIN) != 0, (int) length);
    }

    private int checked(final int opcode, final boolean isLast, final int length) {
        if (opcode <= WebSocket.BINARY) {
            return opcode;
        }
        if (opcode < WebSocket.CLOSE || opcode > WebSocket.PONG) {
            return broken("a frame has the opcode " + opcode);
        }
        return isLast && length <= CONTROL_BYTES_MAX ? opcode : broken("a control frame is fragmented or longer than 125 bytes");
    }

    /** Adds a fragment. Returns the message's opcode when it is complete, {@link #NONE} before. */
    private int fragment(final int opcode, final boolean isLast) {
        if (opcode == WebSocket.CONTINUATION == (fragments == null)) {
            return broken("a continuation frame continues nothing, or a message begins inside another");
        }
        if (fragments == null) {
            fragments = new ByteArrayOutputStream();
            fragmentsOpcode = opcode;
            fragmentsNs = frameNs;
            fragmentsFrameBytes = 0;
        }
        fragments.write(payload, payloadAt, payloadEnd - payloadAt);
        fragmentsFrameBytes += frameBytes;
        if (fragments.size() > MESSAGE_BYTES_MAX) {
            return broken("a message is longer than " + MESSAGE_BYTES_MAX + " bytes");
        }
        if (!isLast) {
            return NONE;
        }
        payload = fragments.toByteArray();
        payloadAt = 0;
        payloadEnd = payload.length;
        frameBytes = fragmentsFrameBytes;
        frameNs = fragmentsNs;
        fragments = null;
        return fragmentsOpcode;
    }

    /** The payload as text. It allocates. */
    String text() {
        return new String(payload, payloadAt, payloadEnd - payloadAt, StandardCharsets.UTF_8);
    }

    /** The code and the words of a close frame. */
    String closeReason() {
        if (payloadEnd - payloadAt < 2) {
            return "without a reason";
        }
        final int code = (payload[payloadAt] & 0xff) << 8 | payload[payloadAt + 1] & 0xff;
        return code + " " + new String(payload, payloadAt + 2, payloadEnd - payloadAt - 2, StandardCharsets.UTF_8);
    }

    byte[] payload() {
        return payload;
    }

    int payloadAt() {
        return payloadAt;
    }

    int payloadEnd() {
        return payloadEnd;
    }

    /**
     * The head of an HTTP message, without its last empty line; null if it is incomplete. Call it
     * only before the first frame.
     */
    String httpHead() {
        for (int index = start; index + 4 <= end; index++) {
            if (bytes[index] == '\r' && bytes[index + 1] == '\n' && bytes[index + 2] == '\r' && bytes[index + 3] == '\n') {
                final String head = new String(bytes, start, index - start, StandardCharsets.ISO_8859_1);
                start = index + 4;
                return head;
            }
        }
        return null;
    }
}
