package tickpath.cluster;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Replies on their way over a planted distance. They keep their order whatever the jitter, as those
 * of one connection do.
 *
 * <p>See docs/METHODOLOGY.md, "Two zones".
 */
final class PlantedDistance {
    /** A parked thread wakes up to this much too late. */
    private static final long NEAR_NS = TimeUnit.MICROSECONDS.toNanos(200);

    private final long delayNs;
    private final long jitterNs;
    private final SplittableRandom random = new SplittableRandom(0);
    private final ArrayDeque<Reply> replies = new ArrayDeque<>();

    private record Reply(long dueNs, ByteBuffer bytes) {}

    /**
     * A distance.
     *
     * @param delayNs time by which each reply arrives later
     * @param jitterNs a random time below this is added to it
     */
    PlantedDistance(final long delayNs, final long jitterNs) {
        this.delayNs = delayNs;
        this.jitterNs = jitterNs;
    }

    void send(final ByteBuffer bytes, final long nowNs) {
        long dueNs = nowNs + delayNs + (jitterNs == 0 ? 0 : random.nextLong(jitterNs));
        final Reply last = replies.peekLast();
        if (last != null && last.dueNs - dueNs > 0) {
            dueNs = last.dueNs;
        }
        replies.add(new Reply(dueNs, bytes));
    }

    /** Takes the next reply that has arrived; null: none has. */
    ByteBuffer arrived(final long nowNs) {
        final Reply first = replies.peekFirst();
        return first == null || first.dueNs - nowNs > 0 ? null : replies.remove().bytes;
    }

    /** Whether one arrives so soon that its time is spun for. */
    boolean isNear(final long nowNs) {
        final Reply first = replies.peekFirst();
        return first != null && first.dueNs - nowNs <= NEAR_NS;
    }

    boolean isEmpty() {
        return replies.isEmpty();
    }
}
