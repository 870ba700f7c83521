package tickpath.client;

import io.netty.buffer.ByteBuf;

/**
 * The bytes of a stream, in one flat array, where a message is read in place; unread bytes move to
 * the front when the array is full.
 */
abstract class StreamReader {
    /** No message is complete yet. */
    static final int NONE = -1;

    /** The stream is malformed; {@link #complaint} has the reason. */
    static final int BROKEN = -2;

    /** The stream's bytes; those from {@link #start} to {@link #end} are unread. */
    protected byte[] bytes;
    protected int start;
    protected int end;

    /** The last message: its length on the stream, and the stamp of its first byte. */
    protected int frameBytes;
    protected long frameNs;

    /** Stamp of the read that returned the first unread byte. */
    private long firstByteNs;
    private long lastReadNs;
    private String complaint;

    protected StreamReader(final int capacity) {
        bytes = new byte[capacity];
    }

    /** Appends the bytes of one read. */
    final void fill(final ByteBuf read, final long stampNs) {
        if (start == end) {
            start = 0;
            end = 0;
            firstByteNs = stampNs;
        }
        lastReadNs = stampNs;
        final int length = read.readableBytes();
        if (bytes.length - end < length) {
            makeRoom(length);
        }
        read.readBytes(bytes, end, length);
        end += length;
    }

    private void makeRoom(final int length) {
        final int unread = end - start;
        // A read is shorter than half of the array, so a load allocates nothing here.
        final byte[] roomy = bytes.length - unread < length ? new byte[2 * (unread + length)] : bytes;
        System.arraycopy(bytes, start, roomy, 0, unread);
        bytes = roomy;
        start = 0;
        end = unread;
    }

    /** Marks the first unread bytes as a message. */
    protected final void take(final int length) {
        frameBytes = length;
        frameNs = firstByteNs;
        start += length;
        // The next message begins in bytes of the last read.
        firstByteNs = lastReadNs;
    }

    protected final int broken(final String why) {
        complaint = why;
        return BROKEN;
    }

    /** Length of the message on the stream. */
    final int frameBytes() {
        return frameBytes;
    }

    /** Stamp of the read that returned its first byte. */
    final long frameNs() {
        return frameNs;
    }

    final String complaint() {
        return complaint;
    }
}
