package tickpath.cluster;

import io.aeron.Aeron;
import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.client.EgressListener;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import java.nio.file.Path;
import org.agrona.CloseHelper;

/** A client's end of a cluster: a media driver of this process, and the settings of a session. */
final class ClusterClient implements AutoCloseable {
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

    @Override
    public void close() {
        CloseHelper.closeAll(aeron, driver);
    }
}
