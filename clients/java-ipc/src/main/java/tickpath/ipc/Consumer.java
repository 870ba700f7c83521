package tickpath.ipc;

import java.nio.ByteOrder;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** The work per message on the consuming thread: stamp, copy, check, store two times. */
class Consumer {
    static final int INDEX_OFFSET = 0;
    static final int SENT_OFFSET = 8;

    /**
     * Position of the fields that change with every message: in the middle of an array of their
     * own, so that they share no cache line with the producer's.
     */
    private static final int EXPECTED = Memory.LINE_PAIR_BYTES / Long.BYTES;
    private static final int LATEST_NS = EXPECTED + 1;

    private final Schedule schedule;
    private final Samples samples;
    private final int warmUpMessages;
    private final int messages;
    private final UnsafeBuffer copy;

    /** The index of the next message, and the time at which the latest was received. */
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

    /**
     * Sets the time at which message 0 is due, by {@link System#nanoTime}. Call it before the
     * consuming thread begins.
     */
    void startAt(final long startNs) {
        this.startNs = startNs;
    }

    /** Takes the message at {@code offset}. */
    void accept(final DirectBuffer buffer, final int offset) {
        final long nowNs = System.nanoTime();
        buffer.getBytes(offset, copy, 0, copy.capacity());
        final long index = copy.getLong(INDEX_OFFSET, ByteOrder.LITTLE_ENDIAN);
        final long sentNs = copy.getLong(SENT_OFFSET, ByteOrder.LITTLE_ENDIAN);
        if (index != state[EXPECTED] && hasNoSample(index)) {
            return;
        }
        samples.put((int) index, nowNs - startNs - schedule.offsetNs(index), nowNs - sentNs);
        state[EXPECTED] = Math.max(state[EXPECTED], index + 1);
        state[LATEST_NS] = nowNs;
    }

    /**
     * Counts a message that is not the expected one. Returns whether it gets no sample, because its
     * index is unknown or arrived before.
     */
    private boolean hasNoSample(final long index) {
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

    /** Whether the last message has arrived, or the run was stopped. */
    boolean isOver() {
        return state[EXPECTED] == messages || stopped;
    }

    /** May be called from any thread. */
    void stop() {
        stopped = true;
    }

    /** This and the following are valid after the consuming thread has ended. */
    boolean hasSeenLast() {
        return state[EXPECTED] == messages;
    }

    /** Messages of the measured part whose index had arrived before. */
    int duplicated() {
        return duplicated;
    }

    /** Messages of the measured part that arrived after a later one. */
    int outOfOrder() {
        return outOfOrder;
    }

    /** Messages with an index that was never sent. */
    int unknown() {
        return unknown;
    }

    /** The time at which the latest message was received. */
    long latestNs() {
        return state[LATEST_NS];
    }
}
