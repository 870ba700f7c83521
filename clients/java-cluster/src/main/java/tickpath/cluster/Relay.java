package tickpath.cluster;

import io.aeron.Aeron;
import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.client.EgressListener;
import io.aeron.logbuffer.Header;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import org.agrona.CloseHelper;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A connection of an exchange and its session of the cluster, which end together: bytes go into the
 * cluster's log, replies come back. It sends nothing again, so it ends when anything may be lost.
 */
final class Relay implements AutoCloseable {
    private static final ByteOrder LITTLE = ByteOrder.LITTLE_ENDIAN;

    /** A frame of the crate replica: length of its body, where that begins, and the first kind. */
    private static final int FRAME_LENGTH = 0;

    private static final int FRAME_BODY = 8;
    private static final byte HELLO = 1;

    /** Bytes without a reply, above which no more are read. */
    private static final long WINDOW_BYTES = 1 << 20;

    private static final long KEEP_ALIVE_NS = TimeUnit.SECONDS.toNanos(1);

    /** Longest wait for the first frame, a session, room, or a reply. */
    static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(5);

    private static final int SPINS = 100;
    private static final int YIELDS = 10;
    private static final long PARK_NS_MIN = 1_000;
    private static final long PARK_NS_MAX = 100_000;

    private final SocketChannel channel;
    private final Aeron aeron;
    private final ClusterFile cluster;
    private final String host;
    private final IdleStrategy idle = new BackoffIdleStrategy(SPINS, YIELDS, PARK_NS_MIN, PARK_NS_MAX);
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(Stream.BYTES + Stream.BYTES_MAX);
    private final UnsafeBuffer message = new UnsafeBuffer(buffer);
    private final PlantedDistance distance;
    private AeronCluster session;
    private long sent;
    private long taken;
    /** When the cluster has last taken anything, or had nothing to take. */
    private long progressNs;

    private boolean isOver;
    private IOException failure;
    private volatile boolean mustStop;

    /**
     * A connection that was accepted, whose channel doesn't block.
     *
     * @param host where the cluster reaches this machine
     */
    Relay(final SocketChannel channel, final Aeron aeron, final ClusterFile cluster, final String host) {
        this.channel = channel;
        this.aeron = aeron;
        this.cluster = cluster;
        this.host = host;
        distance = new PlantedDistance(cluster.delayNs(), cluster.jitterNs());
        buffer.position(Stream.BYTES);
    }

    /** Ends {@link #run}; for any thread. */
    void stop() {
        mustStop = true;
    }

    /** Relays until one of the two ends. */
    void run() throws IOException {
        firstFrame();
        session = ClusterClient.connect(
                ClusterClient.session(aeron, cluster, host, PATIENCE_NS, new Egress()), () -> mustStop);
        progressNs = System.nanoTime();
        long keepAliveNs = progressNs;
        long roomNs = progressNs;
        while (!isOver && !mustStop) {
            final long now = System.nanoTime();
            int work = session.pollEgress();
            if (failure != null) {
                throw failure;
            }
            work += deliver();
            if (session.isClosed() && !isOver) {
                throw new IOException("the cluster has closed the session");
            }
            if (now - keepAliveNs > KEEP_ALIVE_NS) {
                keepAliveNs = now;
                session.sendKeepAlive();
            }
            if (buffer.position() == Stream.BYTES) {
                roomNs = now;
                if (sent - taken < WINDOW_BYTES) {
                    work += read();
                }
            }
            work += offer();
            if (sent == taken) {
                progressNs = now;
            }
            if (now - progressNs > PATIENCE_NS || now - roomNs > PATIENCE_NS) {
                throw new IOException("the cluster has taken nothing for "
                        + TimeUnit.NANOSECONDS.toSeconds(PATIENCE_NS) + " s: do most of its members run?");
            }
            idle(work);
        }
        while (!distance.isEmpty() && !mustStop) {
            idle(deliver());
        }
    }

    /** Passes the replies on that have come over the planted distance. */
    private int deliver() throws IOException {
        int count = 0;
        ByteBuffer reply = distance.arrived(System.nanoTime());
        while (reply != null) {
            write(reply);
            count++;
            reply = distance.arrived(System.nanoTime());
        }
        return count;
    }

    private void idle(final int work) {
        if (distance.isNear(System.nanoTime())) {
            idle.reset();
            Thread.onSpinWait();
        } else {
            idle.idle(work);
        }
    }

    private int read() throws IOException {
        final int bytes = channel.read(buffer);
        if (bytes < 0) {
            throw new EOFException("the exchange has closed it");
        }
        return bytes;
    }

    /**
     * Reads the whole first frame: a connection that is none of an exchange leaves nothing in the
     * cluster's log.
     */
    private void firstFrame() throws IOException {
        final long begin = System.nanoTime();
        while (!hasFirstFrame()) {
            if (mustStop || System.nanoTime() - begin > PATIENCE_NS) {
                throw new IOException("no exchange has sent its first frame within "
                        + TimeUnit.NANOSECONDS.toSeconds(PATIENCE_NS) + " s");
            }
            idle.idle(read());
        }
    }

    private boolean hasFirstFrame() throws IOException {
        final int bytes = buffer.position() - Stream.BYTES;
        if (bytes <= FRAME_BODY) {
            return false;
        }
        final int length = FRAME_BODY + message.getInt(Stream.BYTES + FRAME_LENGTH, LITTLE);
        if (length <= FRAME_BODY || length > Stream.BYTES_MAX || message.getByte(Stream.BYTES + FRAME_BODY) != HELLO) {
            throw new IOException("it is not from an exchange without TLS, started with --replicate --follower");
        }
        return bytes >= length;
    }

    /** Gives what was read to the cluster, in one message. */
    private int offer() {
        final int length = buffer.position();
        if (length == Stream.BYTES) {
            return 0;
        }
        message.putLong(Stream.AT, sent, LITTLE);
        // Full, or the leader is lost: the session, or our patience, ends.
        if (session.offer(message, 0, length) <= 0) {
            return 0;
        }
        sent += length - Stream.BYTES;
        buffer.clear().position(Stream.BYTES);
        return 1;
    }

    private void onReply(final DirectBuffer reply, final int offset, final int length) throws IOException {
        final boolean isLast = reply.getInt(offset + Stream.OVER, LITTLE) != 0;
        final int bytes = length - Stream.REPLY;
        if (reply.getLong(offset + Stream.AT, LITTLE) == taken) {
            taken += reply.getInt(offset + Stream.TAKEN, LITTLE);
            progressNs = System.nanoTime();
            if (bytes > 0) {
                final ByteBuffer copy = ByteBuffer.allocate(bytes);
                reply.getBytes(offset + Stream.REPLY, copy, bytes);
                distance.send(copy.flip(), progressNs);
            }
        } else if (!isLast) {
            throw new IOException("a reply of the cluster is missing");
        }
        isOver |= isLast;
    }

    private void write(final ByteBuffer bytes) throws IOException {
        final long begin = System.nanoTime();
        while (bytes.hasRemaining()) {
            if (channel.write(bytes) == 0 && System.nanoTime() - begin > PATIENCE_NS) {
                throw new IOException("the exchange reads no replies");
            }
        }
    }

    @Override
    public void close() {
        // The exchange first: it connects again.
        CloseHelper.quietCloseAll(channel, session);
    }

    private final class Egress implements EgressListener {
        @Override
        public void onMessage(
                final long clusterSessionId,
                final long timestamp,
                final DirectBuffer reply,
                final int offset,
                final int length,
                final Header header) {
            try {
                if (failure == null && !isOver) {
                    onReply(reply, offset, length);
                }
            } catch (final IOException e) {
                failure = e;
            }
        }

        @Override
        public void onNewLeader(
                final long clusterSessionId,
                final long leadershipTermId,
                final int leaderMemberId,
                final String ingressEndpoints) {
            failure = new IOException("the cluster has another leader, member " + leaderMemberId);
        }
    }
}
