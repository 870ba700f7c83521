package tickpath.ipc;

import java.nio.ByteOrder;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** The work per message on the consuming thread: stamp, copy, check, note two times. */
class Consumer {
    static final int INDEX_OFFSET = 0;
    static final int SENT_OFFSET = 8;

    /**
     * What changes with every message, in the middle of an array of its own: nothing that the
     * producer uses is near.
     */
    private static final int EXPECTED = Memory.LINE_PAIR_BYTES / Long.BYTES;
    private static final int LATEST_NS = EXPECTED + 1;

    private final Schedule schedule;
    private final Samples samples;
    private final int warmUpMessages;
    private final int messages;
    private final UnsafeBuffer copy;

    /** The index of the message that is next, and when the latest was received. */
    private final long[] state = new long[2 * EXPECTED + 2];

    private long startNs;
    private int duplicated;
    private int outOfOrder;
    private int unknown;
    private volatile boolean stopped;

    Consumer(final Plan plan, final Schedule schedule, final Samples samples) {
        this.schedule = schedule;
        this.samples = samples;
        warmUpMessages = plan.warmUpMessages();
        messages = plan.messagesInAll();
        copy = Memory.allocate(plan.messageBytes());
    }

    /** When message 0 is due, of {@link System#nanoTime}. Before the consuming thread begins. */
    void startAt(final long startNs) {
        this.startNs = startNs;
    }

    /** A message that can be read, and stands at {@code offset}. */
    void accept(final DirectBuffer buffer, final int offset) {
        final long nowNs = System.nanoTime();
        buffer.getBytes(offset, copy, 0, copy.capacity());
        final long index = copy.getLong(INDEX_OFFSET, ByteOrder.LITTLE_ENDIAN);
        final long sentNs = copy.getLong(SENT_OFFSET, ByteOrder.LITTLE_ENDIAN);
        if (index != state[EXPECTED] && isRefused(index)) {
            return;
        }
        samples.put((int) index, nowNs - startNs - schedule.offsetNs(index), nowNs - sentNs);
        state[EXPECTED] = Math.max(state[EXPECTED], index + 1);
        state[LATEST_NS] = nowNs;
    }

    /**
     * Whether a message that is not the next one has no sample of its own. One that overtook
     * others has.
     */
    private boolean isRefused(final long index) {
        if (index < 0 || index >= messages) {
            unknown++;
            return true;
        }
        final int measured = index >= warmUpMessages ? 1 : 0;
        if (samples.has((int) index)) {
            duplicated += measured;
            return true;
        }
        outOfOrder += index < state[EXPECTED] ? measured : 0;
        return false;
    }

    /** Whether the last message has come, or nobody waits for it any more. */
    boolean isOver() {
        return state[EXPECTED] == messages || stopped;
    }

    /** From any thread. */
    void stop() {
        stopped = true;
    }

    /** For all that follows: when the consuming thread has ended. */
    boolean hasSeenLast() {
        return state[EXPECTED] == messages;
    }

    /** Messages of the measured part that had been seen before. */
    int duplicated() {
        return duplicated;
    }

    /** Messages of the measured part that later ones overtook. */
    int outOfOrder() {
        return outOfOrder;
    }

    /** With an index that was never sent. */
    int unknown() {
        return unknown;
    }

    /** When the latest message was received. */
    long latestNs() {
        return state[LATEST_NS];
    }
}
