package tickpath.client;

import java.nio.ByteBuffer;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.OneToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;

/**
 * The measuring thread's end of a ring of samples; {@link Histograms} is the other. Nothing here
 * allocates or makes a system call, except to wake the other thread at most once a second.
 */
final class Recorder {
    static final int ORDER_RESPONSE = 0;
    static final int ORDER_SERVICE = 1;
    static final int CANCEL_RESPONSE = 2;
    static final int CANCEL_SERVICE = 3;
    static final int CYCLE_SERVICE = 4;
    static final int SEND_LATENESS = 5;
    static final int SERIES = 6;

    /** Messages of the ring that are no samples; a sample's type is its series plus 1. */
    static final int START = SERIES + 1;
    static final int ROLL = SERIES + 2;

    static final long INTERVAL_NS = 1_000_000_000;

    private static final int SAMPLE_BYTES = 16;
    private static final int SAMPLES_MIN = 1 << 16;
    private static final int SAMPLES_MAX = 1 << 22;
    /** More than the round trips of one connection. */
    private static final double PING_PONG_SAMPLES_PER_SECOND = 200_000;
    private static final double SAMPLES_PER_MESSAGE = 3;
    /** Time to wait for the last replies. */
    private static final double EXTRA_SECONDS = 2;

    private final OneToOneRingBuffer ring;
    private final boolean drainsDuringRun;
    private Thread histograms;
    private long boundaryNs = Long.MAX_VALUE;
    private long waits;
    private volatile boolean finished;

    /**
     * @param drainsDuringRun the other thread drains once a second; otherwise after the run, or
     *     when the ring is half full
     */
    Recorder(final Plan plan, final boolean drainsDuringRun) {
        this.drainsDuringRun = drainsDuringRun;
        final Plan.Load load = plan.load();
        final double perSecond =
                load.open() ? SAMPLES_PER_MESSAGE * load.ratePerSecond() : PING_PONG_SAMPLES_PER_SECOND;
        final double seconds = Math.min(plan.seconds(), Histograms.SECONDS_IN_MEMORY_MAX) + EXTRA_SECONDS;
        final int samples = (int) Math.min(SAMPLES_MAX, Math.max(SAMPLES_MIN, perSecond * seconds));
        final int bytes = Integer.highestOneBit(2 * samples - 1) * SAMPLE_BYTES;
        ring = new OneToOneRingBuffer(new UnsafeBuffer(ByteBuffer.allocateDirect(bytes + RingBufferDescriptor.TRAILER_LENGTH)));
    }

    /** Wakes this thread when the ring should be drained. */
    void wake(final Thread thread) {
        histograms = thread;
    }

    OneToOneRingBuffer ring() {
        return ring;
    }

    /** Begins the measured part. */
    void start(final long nowNs) {
        boundaryNs = nowNs + INTERVAL_NS;
        put(START, nowNs);
    }

    void record(final int series, final long valueNs) {
        put(1 + series, Math.max(0, valueNs));
    }

    /** Ends the interval if its time is over. Call it between messages. */
    void roll(final long nowNs) {
        if (nowNs >= boundaryNs) {
            boundaryNs += INTERVAL_NS * ((nowNs - boundaryNs) / INTERVAL_NS + 1);
            put(ROLL, nowNs);
            if (drainsDuringRun || ring.size() > ring.capacity() / 2) {
                LockSupport.unpark(histograms);
            }
        }
    }

    /** Ends the last interval, and the run. */
    void finish(final long nowNs) {
        if (boundaryNs != Long.MAX_VALUE) {
            put(ROLL, nowNs);
        }
        finished = true;
        LockSupport.unpark(histograms);
    }

    boolean isFinished() {
        return finished;
    }

    /** Times that the measuring thread waited because the ring was full. */
    long waits() {
        return waits;
    }

    private void put(final int type, final long value) {
        int at = ring.tryClaim(type, Long.BYTES);
        if (at < 0) {
            at = waitForSpace(type);
        }
        ring.buffer().putLong(at, value);
        ring.commit(at);
    }

    private int waitForSpace(final int type) {
        waits++;
        LockSupport.unpark(histograms);
        int at = ring.tryClaim(type, Long.BYTES);
        while (at < 0) {
            Thread.onSpinWait();
            at = ring.tryClaim(type, Long.BYTES);
        }
        return at;
    }
}
