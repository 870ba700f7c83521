package tickpath.ipc;

import org.agrona.BitUtil;
import org.agrona.BufferUtil;
import org.agrona.concurrent.UnsafeBuffer;

/** Zeroed memory off the heap that shares no cache line with other data. */
final class Memory {
    /** Processors fetch lines in pairs. */
    static final int LINE_PAIR_BYTES = 128;

    private Memory() {}

    static UnsafeBuffer allocate(final int bytes) {
        final int whole = BitUtil.align(bytes, LINE_PAIR_BYTES);
        return new UnsafeBuffer(BufferUtil.allocateDirectAligned(whole, LINE_PAIR_BYTES), 0, bytes);
    }
}
