package tickpath.cluster;

import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import io.aeron.logbuffer.Header;
import java.io.PrintStream;
import java.util.Locale;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.AgentTerminationException;
import org.agrona.concurrent.IdleStrategy;
import tickpath.shared.ClientException;

/** The machine as a service of Aeron Cluster: its messages, its snapshots. */
final class EngineService implements ClusteredService {
    /** A piece of a snapshot is a message: an eighth of a term, which has 64 KiB at least. */
    private static final int PIECE_BYTES = 8_000;

    private static final int FRAGMENTS_PER_POLL = 10;

    /** A gateway whose stream has no room for so many tries gets no reply until it asks again. */
    private static final int SEND_TRIES_MAX = 3;

    private final EngineShape shape;
    private final int member;
    private final PrintStream out;
    private final PrintStream err;
    private Cluster cluster;
    private IdleStrategy idle;
    private Machine machine;

    EngineService(final EngineShape shape, final int member, final PrintStream out, final PrintStream err) {
        this.shape = shape;
        this.member = member;
        this.out = out;
        this.err = err;
    }

    @Override
    public void onStart(final Cluster started, final Image snapshot) {
        cluster = started;
        idle = started.idleStrategy();
        try {
            machine = snapshot == null
                    ? new Machine(NativeEngine.create(shape), this::reached)
                    : restore(snapshot);
        } catch (final ClientException e) {
            throw new AgentTerminationException(e);
        }
    }

    private Machine restore(final Image snapshot) throws ClientException {
        final Machine.Restore pieces = new Machine.Restore();
        final boolean[] complete = new boolean[1];
        while (!complete[0]) {
            // Fragments of a piece come in order, and the first piece is one: nothing to assemble.
            final int fragments = snapshot.poll(
                    (buffer, offset, length, header) -> complete[0] = pieces.put(buffer, offset, length),
                    FRAGMENTS_PER_POLL);
            if (fragments == 0 && (snapshot.isClosed() || snapshot.isEndOfStream())) {
                throw new ClientException("the snapshot ends early: take the one before"
                        + " (ClusterTool DIRECTORY/cluster invalidate-latest-snapshot)");
            }
            idle.idle(fragments);
        }
        return pieces.machine(this::reached);
    }

    @Override
    public void onSessionMessage(
            final ClientSession session,
            final long timestamp,
            final DirectBuffer buffer,
            final int offset,
            final int length,
            final Header header) {
        final String fault;
        try {
            fault = machine.receive(
                    buffer, offset, length, timestamp, (message, bytes) -> send(session, message, bytes));
        } catch (final Machine.EngineFailedException e) {
            throw new AgentTerminationException(e);
        }
        if (fault != null && !session.isClosing()) {
            err.println("member " + member + ": closing session " + session.id() + ": " + fault);
            session.close();
        }
    }

    /** The leader sends; for the others the call does nothing and succeeds. */
    private boolean send(final ClientSession session, final DirectBuffer message, final int length) {
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
    public void onTakeSnapshot(final ExclusivePublication publication) {
        try {
            machine.save(PIECE_BYTES, (bytes, offset, length) -> write(publication, bytes, offset, length));
        } catch (final ClientException e) {
            throw new AgentTerminationException(e);
        }
    }

    private void write(
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

    private void reached(final long gateway, final long number, final long sequence, final long stateHash) {
        out.println("{\"member\":" + member + ",\"checkpoint\":" + number + ",\"gateway\":" + gateway
                + ",\"sequence\":" + sequence + ",\"state_hash\":\"" + String.format("%016x", stateHash) + "\"}");
    }

    @Override
    public void onRoleChange(final Cluster.Role role) {
        out.println("{\"member\":" + member + ",\"role\":\"" + role.name().toLowerCase(Locale.ROOT) + "\"}");
    }

    @Override
    public void onTerminate(final Cluster ended) {
        machine.close();
    }

    @Override
    public void onSessionOpen(final ClientSession session, final long timestamp) {}

    @Override
    public void onSessionClose(final ClientSession session, final long timestamp, final CloseReason reason) {}

    @Override
    public void onTimerEvent(final long correlationId, final long timestamp) {}
}
