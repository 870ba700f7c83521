package tickpath.cluster;

import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import java.io.PrintStream;
import java.util.Locale;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.AgentTerminationException;
import org.agrona.concurrent.IdleStrategy;
import tickpath.shared.ClientException;

/** The parts that services have in common: replies, snapshots in pieces, and a line per role. */
abstract class MemberService implements ClusteredService {
    /** A piece of a snapshot is a message: an eighth of a term, which has 64 KiB at least. */
    static final int PIECE_BYTES = 8_000;

    private static final int FRAGMENTS_PER_POLL = 10;

    /** Attempts to send a reply. If none finds room, the gateway must ask again for the reply. */
    private static final int SEND_TRIES_MAX = 3;

    protected final int member;
    protected final PrintStream out;
    protected final PrintStream err;
    protected Cluster cluster;
    private IdleStrategy idle;

    MemberService(final int member, final PrintStream out, final PrintStream err) {
        this.member = member;
        this.out = out;
        this.err = err;
    }

    /** Takes pieces of a snapshot; true: it was the last. */
    interface Pieces {
        boolean put(DirectBuffer bytes, int offset, int length);
    }

    /** Makes the state, from a snapshot unless that is null. */
    abstract void start(Image snapshot) throws ClientException;

    /** Saves the state by {@link #write}. */
    abstract void save(ExclusivePublication publication) throws ClientException;

    @Override
    public final void onStart(final Cluster started, final Image snapshot) {
        cluster = started;
        idle = started.idleStrategy();
        try {
            start(snapshot);
        } catch (final ClientException e) {
            throw new AgentTerminationException(e);
        }
    }

    final void read(final Image snapshot, final Pieces pieces) throws ClientException {
        final boolean[] complete = new boolean[1];
        while (!complete[0]) {
            // Pieces need no assembly: fragments come in order, and the first piece is one
            // fragment.
            final int fragments = snapshot.poll(
                    (buffer, offset, length, header) -> complete[0] = pieces.put(buffer, offset, length),
                    FRAGMENTS_PER_POLL);
            if (fragments == 0 && (snapshot.isClosed() || snapshot.isEndOfStream())) {
                throw new ClientException("the snapshot ends early: take the one before"
                        + " (ClusterTool DIRECTORY/cluster invalidate-latest-snapshot)");
            }
            idle.idle(fragments);
        }
    }

    /** Sends a reply if there is room for it. */
    final boolean send(final ClientSession session, final DirectBuffer message, final int length) {
        idle.reset();
        for (int tries = 0; tries < SEND_TRIES_MAX; tries++) {
            final long result = session.offer(message, 0, length);
            if (result > 0) {
                return true;
            }
            if (result != Publication.BACK_PRESSURED && result != Publication.ADMIN_ACTION) {
                return false;
            }
            idle.idle();
        }
        return false;
    }

    @Override
    public final void onTakeSnapshot(final ExclusivePublication publication) {
        try {
            save(publication);
        } catch (final ClientException e) {
            throw new AgentTerminationException(e);
        }
    }

    final void write(
            final ExclusivePublication publication, final DirectBuffer bytes, final int offset, final int length) {
        idle.reset();
        while (true) {
            final long result = publication.offer(bytes, offset, length);
            if (result > 0) {
                return;
            }
            if (result != Publication.BACK_PRESSURED && result != Publication.ADMIN_ACTION) {
                throw new IllegalStateException("the archive takes no snapshot: " + Publication.errorString(result));
            }
            idle.idle();
        }
    }

    /** Closes a session that sent something else than messages. */
    final void reject(final ClientSession session, final String fault) {
        if (!session.isClosing()) {
            err.println("member " + member + ": closing session " + session.id() + ": " + fault);
            session.close();
        }
    }

    @Override
    public final void onRoleChange(final Cluster.Role role) {
        out.println("{\"member\":" + member + ",\"role\":\"" + role.name().toLowerCase(Locale.ROOT) + "\"}");
    }

    @Override
    public void onSessionOpen(final ClientSession session, final long timestamp) {}

    @Override
    public void onSessionClose(final ClientSession session, final long timestamp, final CloseReason reason) {}

    @Override
    public void onTimerEvent(final long correlationId, final long timestamp) {}
}
