package tickpath.client;

import java.nio.charset.StandardCharsets;

/** Takes SBE frames out of a stream. */
final class SbeReader extends StreamReader {
    /** A read, and what was unread before it. */
    private static final int CAPACITY_BYTES = 64 * 1024;

    private int frameAt;
    private int blockBytes;

    SbeReader() {
        super(CAPACITY_BYTES);
    }

    /** The template of the next message; {@link #NONE} or {@link #BROKEN}. */
    int next() {
        final int there = end - start;
        if (there < SbeLayout.FRAME_HEAD_BYTES) {
            return NONE;
        }
        final int length = SbeLayout.frameLength(bytes, start);
        if (length < SbeLayout.HEAD_BYTES || length > SbeLayout.FRAME_BYTES_MAX) {
            return broken("a frame of " + Integer.toUnsignedString(length) + " bytes: the length must be from 14 to 1024");
        }
        final int encoding = SbeLayout.encoding(bytes, start + Integer.BYTES);
        if (encoding != SbeLayout.ENCODING) {
            return broken("a frame's encoding type is " + encoding + ", not 60240 (SBE 1.0, little endian)");
        }
        if (there < length) {
            return NONE;
        }
        final int header = start + SbeLayout.FRAME_HEAD_BYTES;
        final int schema = SbeLayout.getShort(bytes, header + 4);
        if (schema != SbeLayout.SCHEMA) {
            return broken("a message of schema " + schema + ", not " + SbeLayout.SCHEMA);
        }
        frameAt = start;
        blockBytes = SbeLayout.getShort(bytes, header);
        final int template = SbeLayout.getShort(bytes, header + 2);
        if (blockBytes > length - SbeLayout.HEAD_BYTES) {
            return broken("a message of template " + template + " is longer than its frame");
        }
        take(length);
        return template;
    }

    /** Whether the message's block has at least this length; a longer one is of a later version. */
    boolean has(final int length) {
        return blockBytes >= length;
    }

    /** The bytes in which {@link #blockAt} is a position. */
    byte[] bytes() {
        return bytes;
    }

    /** Position of the message's block. */
    int blockAt() {
        return frameAt + SbeLayout.HEAD_BYTES;
    }

    /** The length of a field that is padded with zeros. */
    int lengthOf(final int at, final int max) {
        int length = 0;
        while (length < max && bytes[at + length] != 0) {
            length++;
        }
        return length;
    }

    /** A field that is padded with zeros. It allocates. */
    String padded(final int at, final int max) {
        return new String(bytes, at, lengthOf(at, max), StandardCharsets.UTF_8);
    }

    /** The text after the block; null if it is not complete. It allocates. */
    String text() {
        final int at = blockAt() + blockBytes;
        final int left = frameAt + frameBytes - at - Short.BYTES;
        if (left < 0) {
            return null;
        }
        final int length = SbeLayout.getShort(bytes, at);
        return length > left || length > SbeLayout.TEXT_BYTES_MAX
                ? null
                : new String(bytes, at + Short.BYTES, length, StandardCharsets.UTF_8);
    }
}
