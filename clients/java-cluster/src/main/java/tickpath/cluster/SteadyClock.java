package tickpath.cluster;

import io.aeron.cluster.service.ClusterClock;
import java.time.Instant;
import java.util.concurrent.TimeUnit;

/**
 * The wall clock as it was when this process began, and the time since then. The parts of Aeron in
 * a process judge by a wall clock whether the others live, and whether a leader is silent. So a
 * wall clock that is set would end them.
 */
final class SteadyClock implements ClusterClock {
    private final long originNs = System.nanoTime();
    private final long epochNs;

    SteadyClock() {
        final Instant now = Instant.now();
        epochNs = TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
    }

    @Override
    public TimeUnit timeUnit() {
        return TimeUnit.NANOSECONDS;
    }

    @Override
    public long time() {
        return epochNs + System.nanoTime() - originNs;
    }
}
