package tickpath.cluster;

import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.client.AeronArchive;
import io.aeron.cluster.ClusteredMediaDriver;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.service.ClusteredService;
import io.aeron.cluster.service.ClusteredServiceContainer;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.agrona.CloseHelper;
import org.agrona.ErrorHandler;
import org.agrona.concurrent.NoOpLock;

/** A member of a cluster: media driver, archive, consensus module and service in one process. */
final class Member implements AutoCloseable {
    private static final String LOCAL_CONTROL = "aeron:ipc?term-length=128k";

    /**
     * A term holds the commands that a slow member may lack before the leader slows down; 16 MiB
     * are some 100 000.
     */
    private static final String LOG = "aeron:udp?term-length=16m";

    /** An eighth of a term bounds a message. */
    static final String SESSION_TERM = "term-length=256k";

    private static final int SEGMENT_BYTES = 1 << 26;

    /** As often as 20 times in the time of an election, candidates say how they stand. */
    private static final int STATUSES_PER_ELECTION = 20;

    /** A gateway that is silent for longer loses its session, not its replies. */
    private static final long SESSION_TIMEOUT_SECONDS = 10;

    private final ClusterFile cluster;
    private final int number;
    private final ClusterFile.Address address;
    private final Path directory;
    private final String driverDirectory;
    private final Runnable ended;
    private final ErrorHandler errors;
    private final SteadyClock clock = new SteadyClock();
    private final ClusteredMediaDriver driver;
    private final ClusteredServiceContainer container;

    /**
     * Starts the member.
     *
     * @param directory for its log and its snapshots
     * @param driverDirectory for the media driver's memory
     * @param ended called when the consensus module or the service ends by itself
     */
    Member(
            final ClusterFile cluster,
            final int number,
            final Path directory,
            final Path driverDirectory,
            final ClusteredService service,
            final Runnable ended,
            final ErrorHandler errors) {
        this.cluster = cluster;
        this.number = number;
        this.address = cluster.members().get(number);
        this.directory = directory;
        this.driverDirectory = driverDirectory.toString();
        this.ended = ended;
        this.errors = errors;
        driver = ClusteredMediaDriver.launch(driver(), archive(), consensus());
        try {
            container = ClusteredServiceContainer.launch(container(service));
        } catch (final RuntimeException e) {
            driver.close();
            throw e;
        }
    }

    private MediaDriver.Context driver() {
        return new MediaDriver.Context()
                .aeronDirectoryName(driverDirectory)
                .dirDeleteOnStart(true)
                .dirDeleteOnShutdown(true)
                .threadingMode(ThreadingMode.SHARED)
                .termBufferSparseFile(true)
                .epochClock(clock::timeMillis)
                .errorHandler(errors);
    }

    private String anyPort() {
        return "aeron:udp?endpoint=" + address.host() + ":0";
    }

    private int fileSyncLevel() {
        return cluster.durable() ? 1 : 0;
    }

    private Archive.Context archive() {
        return new Archive.Context()
                .aeronDirectoryName(driverDirectory)
                .archiveDir(directory.resolve("archive").toFile())
                .controlChannel("aeron:udp?endpoint=" + address.archive())
                .localControlChannel(LOCAL_CONTROL)
                .archiveClientContext(new AeronArchive.Context().controlResponseChannel(anyPort()))
                .replicationChannel(anyPort())
                .recordingEventsEnabled(false)
                .segmentFileLength(SEGMENT_BYTES)
                .fileSyncLevel(fileSyncLevel())
                .catalogFileSyncLevel(fileSyncLevel())
                .threadingMode(ArchiveThreadingMode.SHARED)
                .epochClock(clock::timeMillis)
                .errorHandler(errors);
    }

    private AeronArchive.Context archiveClient() {
        return new AeronArchive.Context()
                .lock(NoOpLock.INSTANCE)
                .aeronDirectoryName(driverDirectory)
                .controlRequestChannel(LOCAL_CONTROL)
                .controlResponseChannel(LOCAL_CONTROL);
    }

    private ConsensusModule.Context consensus() {
        return new ConsensusModule.Context()
                .aeronDirectoryName(driverDirectory)
                .clusterMemberId(number)
                .clusterMembers(cluster.consensusMembers())
                .clusterDir(directory.resolve("cluster").toFile())
                .clusterClock(clock)
                .epochClock(clock::timeMillis)
                .archiveContext(archiveClient())
                .ingressChannel("aeron:udp?" + SESSION_TERM)
                .logChannel(LOG)
                .replicationChannel(anyPort())
                .leaderHeartbeatTimeoutNs(cluster.heartbeatTimeoutNs())
                .leaderHeartbeatIntervalNs(cluster.heartbeatIntervalNs())
                .electionTimeoutNs(cluster.electionTimeoutNs())
                .electionStatusIntervalNs(cluster.electionTimeoutNs() / STATUSES_PER_ELECTION)
                .sessionTimeoutNs(TimeUnit.SECONDS.toNanos(SESSION_TIMEOUT_SECONDS))
                .fileSyncLevel(fileSyncLevel())
                .terminationHook(ended)
                .errorHandler(errors);
    }

    private ClusteredServiceContainer.Context container(final ClusteredService service) {
        return new ClusteredServiceContainer.Context()
                .aeronDirectoryName(driverDirectory)
                .clusterDir(directory.resolve("cluster").toFile())
                .archiveContext(archiveClient())
                .clusteredService(service)
                .epochClock(clock::timeMillis)
                .terminationHook(ended)
                .errorHandler(errors);
    }

    @Override
    public void close() {
        CloseHelper.closeAll(container, driver);
    }
}
