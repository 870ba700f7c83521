package tickpath.cluster;

import io.aeron.Aeron;
import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.client.EgressListener;
import io.aeron.exceptions.AeronException;
import io.aeron.logbuffer.Header;
import java.nio.ByteOrder;
import java.util.concurrent.TimeUnit;
import org.agrona.CloseHelper;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A gateway's end of the cluster: numbers commands, sends them until each has its reply, and hands
 * each reply on once, whichever member leads. Not for several threads at once.
 */
final class Gateway implements AutoCloseable {
    private static final ByteOrder LITTLE = ByteOrder.LITTLE_ENDIAN;
    private static final int MASK = Messages.WINDOW - 1;

    /** Time without a reply after which all commands that lack one are sent again. */
    private static final long RESEND_NS = TimeUnit.MILLISECONDS.toNanos(500);

    private static final long KEEP_ALIVE_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long CONNECT_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(2);

    /** Takes the events of a command, perhaps in several parts. */
    interface Replies {
        void onReply(
                long number,
                long sequence,
                long timeNs,
                int events,
                int earlier,
                DirectBuffer buffer,
                int offset,
                int length);
    }

    private final UnsafeBuffer commands = new UnsafeBuffer(new byte[Messages.WINDOW * Messages.COMMAND_BYTES]);
    private final boolean[] bare = new boolean[Messages.WINDOW];
    private final boolean[] answered = new boolean[Messages.WINDOW];
    /** Events that have arrived. */
    private final int[] arrived = new int[Messages.WINDOW];

    private final UnsafeBuffer resume = new UnsafeBuffer(new byte[Messages.BARE_BYTES]);
    private final long id;
    private final Aeron aeron;
    private final ClusterFile cluster;
    private final String host;
    private final Replies replies;

    private AeronCluster.AsyncConnect connecting;
    private AeronCluster session;
    private boolean resumed;
    private boolean mayResume;
    private long last;
    private long sent;
    private long done;
    private long progressNs = System.nanoTime();
    private long keepAliveNs = System.nanoTime();
    private long sessions;
    private long resent;
    private long leaders;
    /** Terms of the cluster: when the first session was opened, and now. */
    private long firstTerm;

    private long term;

    /**
     * Begins to connect; {@link #poll} goes on with it.
     *
     * @param id of this gateway in the cluster, not 0, and of no other
     * @param host where the cluster reaches this gateway
     */
    Gateway(final long id, final Aeron aeron, final ClusterFile cluster, final String host, final Replies replies) {
        this.id = id;
        this.aeron = aeron;
        this.cluster = cluster;
        this.host = host;
        this.replies = replies;
        resume.putLong(Messages.GATEWAY, id, LITTLE);
    }

    /** Whether the cluster has said where the numbers go on, so that commands may be given. */
    boolean isReady() {
        return resumed;
    }

    /** Commands without a reply. */
    int unanswered() {
        return (int) (last - done);
    }

    /** How many sessions were opened. */
    long sessions() {
        return sessions;
    }

    /** How many commands were sent more than once, each as often as that. */
    long resent() {
        return resent;
    }

    /** How many leaders answered, the first included. */
    long leaders() {
        return leaders;
    }

    /** How many votes the cluster has held since the first session, those that failed included. */
    long votes() {
        return term - firstTerm;
    }

    /** The number of the next command. */
    long nextNumber() {
        return last + 1;
    }

    /** The member that leads, as far as known; -1 without a session. */
    int leader() {
        return session == null ? -1 : session.leaderMemberId();
    }

    /**
     * Gives a command to the cluster.
     *
     * @return its number; -1 if {@link Messages#WINDOW} commands have no reply yet
     */
    long give(final DirectBuffer record, final int offset) {
        return add(record, offset, false);
    }

    /** Gives a checkpoint, in the order of the commands; its reply has the state hash. */
    long checkpoint() {
        return add(null, 0, true);
    }

    private long add(final DirectBuffer record, final int offset, final boolean isBare) {
        if (!resumed) {
            throw new IllegalStateException("the gateway is not ready");
        }
        if (last - done == Messages.WINDOW) {
            return -1;
        }
        if (last == done) {
            progressNs = System.nanoTime();
        }
        last++;
        final int slot = (int) last & MASK;
        final int at = slot * Messages.COMMAND_BYTES;
        commands.putLong(at + Messages.GATEWAY, id, LITTLE);
        commands.putLong(at + Messages.NUMBER, last, LITTLE);
        if (!isBare) {
            commands.putBytes(at + Messages.RECORD, record, offset, NativeEngine.RECORD_BYTES);
        }
        bare[slot] = isBare;
        answered[slot] = false;
        arrived[slot] = 0;
        push();
        return last;
    }

    /**
     * Receives replies, sends what waits, and keeps the session.
     *
     * @return 0 if there was nothing to do
     */
    int poll() {
        if (session == null) {
            return connect();
        }
        final int work = session.pollEgress();
        if (session == null || session.isClosed()) {
            disconnect();
            return work + 1;
        }
        final long now = System.nanoTime();
        if (now - keepAliveNs > KEEP_ALIVE_NS) {
            keepAliveNs = now;
            session.sendKeepAlive();
        }
        if (now - progressNs > RESEND_NS && (last > done || !resumed)) {
            again();
        }
        return work + push();
    }

    /** All commands without a reply, in order: the cluster drops what comes before its turn. */
    private void again() {
        progressNs = System.nanoTime();
        resent += sent - done;
        sent = done;
        mayResume = !resumed;
    }

    private int push() {
        int pushed = 0;
        if (mayResume && session.offer(resume, 0, Messages.BARE_BYTES) > 0) {
            mayResume = false;
            pushed++;
        }
        while (session != null && resumed && sent < last) {
            final int slot = (int) (sent + 1) & MASK;
            final int at = slot * Messages.COMMAND_BYTES;
            commands.putLong(at + Messages.DONE, done, LITTLE);
            final int length = bare[slot] ? Messages.BARE_BYTES : Messages.COMMAND_BYTES;
            if (session.offer(commands, at, length) <= 0) {
                break;
            }
            sent++;
            pushed++;
        }
        return pushed;
    }

    private int connect() {
        try {
            if (connecting == null) {
                connecting = AeronCluster.asyncConnect(
                        ClusterClient.session(aeron, cluster, host, CONNECT_TIMEOUT_NS, new Egress()));
            }
            session = connecting.poll();
            if (session == null) {
                return 0;
            }
            connecting = null;
            term = session.leadershipTermId();
            if (sessions == 0) {
                firstTerm = term;
            }
            sessions++;
            leaders++;
            again();
            return 1;
        } catch (final AeronException e) {
            // No leader yet, or no longer: another try.
            CloseHelper.quietClose(connecting);
            connecting = null;
            return 1;
        }
    }

    private void disconnect() {
        CloseHelper.quietClose(session);
        session = null;
    }

    private void onMessage(final DirectBuffer buffer, final int offset, final int length) {
        final long number = buffer.getLong(offset + Messages.NUMBER, LITTLE);
        if (number == 0) {
            if (!resumed) {
                resumed = true;
                done = buffer.getLong(offset + Messages.SEQUENCE, LITTLE);
                last = done;
                sent = done;
            }
            return;
        }
        final int slot = (int) number & MASK;
        // A reply that came again, or the later part of one whose earlier part was lost.
        final int earlier = buffer.getInt(offset + Messages.EARLIER, LITTLE);
        if (number <= done || answered[slot] || arrived[slot] != earlier) {
            return;
        }
        final int bytes = length - Messages.BODY;
        final int events = buffer.getInt(offset + Messages.EVENTS, LITTLE);
        arrived[slot] = Math.min(events, earlier + bytes / NativeEngine.RECORD_BYTES);
        answered[slot] = arrived[slot] == events;
        while (done < last && answered[(int) (done + 1) & MASK]) {
            done++;
        }
        sent = Math.max(sent, done);
        progressNs = System.nanoTime();
        replies.onReply(
                number,
                buffer.getLong(offset + Messages.SEQUENCE, LITTLE),
                buffer.getLong(offset + Messages.TIME, LITTLE),
                events,
                earlier,
                buffer,
                offset + Messages.BODY,
                bytes);
    }

    @Override
    public void close() {
        CloseHelper.quietCloseAll(connecting, session);
        session = null;
    }

    private final class Egress implements EgressListener {
        @Override
        public void onMessage(
                final long clusterSessionId,
                final long timestamp,
                final DirectBuffer buffer,
                final int offset,
                final int length,
                final Header header) {
            Gateway.this.onMessage(buffer, offset, length);
        }

        @Override
        public void onNewLeader(
                final long clusterSessionId,
                final long leadershipTermId,
                final int leaderMemberId,
                final String ingressEndpoints) {
            leaders++;
            term = leadershipTermId;
            again();
        }
    }
}
