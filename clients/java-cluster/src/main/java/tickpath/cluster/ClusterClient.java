package tickpath.cluster;

import io.aeron.Aeron;
import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.client.EgressListener;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.exceptions.AeronException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.agrona.CloseHelper;

/** A client's end of a cluster: a media driver of this process, and the settings of a session. */
final class ClusterClient implements AutoCloseable {
    private static final long POLL_NS = TimeUnit.MICROSECONDS.toNanos(100);

    private final MediaDriver driver;
    private final Aeron aeron;

    /**
     * Starts a media driver.
     *
     * @param directory of the driver, which is deleted at its end
     */
    ClusterClient(final Path directory) {
        final SteadyClock clock = new SteadyClock();
        driver = MediaDriver.launch(new MediaDriver.Context()
                .aeronDirectoryName(directory.toString())
                .epochClock(clock::timeMillis)
                .dirDeleteOnStart(true)
                .dirDeleteOnShutdown(true)
                .threadingMode(ThreadingMode.SHARED)
                .termBufferSparseFile(true));
        aeron = Aeron.connect(
                new Aeron.Context().aeronDirectoryName(directory.toString()).epochClock(clock::timeMillis));
    }

    Aeron aeron() {
        return aeron;
    }

    /**
     * The settings of a session.
     *
     * @param host where the cluster reaches this machine
     */
    static AeronCluster.Context session(
            final Aeron aeron,
            final ClusterFile cluster,
            final String host,
            final long timeoutNs,
            final EgressListener listener) {
        return new AeronCluster.Context()
                .aeron(aeron)
                .ownsAeronClient(false)
                .messageTimeoutNs(timeoutNs)
                .ingressChannel("aeron:udp?" + Member.SESSION_TERM)
                .ingressEndpoints(cluster.ingressEndpoints())
                .egressChannel("aeron:udp?endpoint=" + host + ":0|" + Member.SESSION_TERM)
                .egressListener(listener);
    }

    /**
     * Opens a session, in any thread.
     *
     * @param stops whether to give up
     */
    static AeronCluster connect(final AeronCluster.Context session, final BooleanSupplier stops) throws IOException {
        final long begin = System.nanoTime();
        final AeronCluster.AsyncConnect connecting = AeronCluster.asyncConnect(session);
        AeronCluster opened = null;
        try {
            while (opened == null) {
                if (stops.getAsBoolean() || System.nanoTime() - begin > session.messageTimeoutNs()) {
                    throw new IOException("the cluster has no leader that answers");
                }
                opened = connecting.poll();
                LockSupport.parkNanos(POLL_NS);
            }
        } catch (final AeronException e) {
            throw new IOException("the cluster has no leader that answers: " + e.getMessage(), e);
        } finally {
            if (opened == null) {
                CloseHelper.quietClose(connecting);
            }
        }
        return opened;
    }

    @Override
    public void close() {
        CloseHelper.closeAll(aeron, driver);
    }
}
