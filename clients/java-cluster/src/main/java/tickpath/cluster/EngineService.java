package tickpath.cluster;

import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.logbuffer.Header;
import java.io.PrintStream;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.AgentTerminationException;
import tickpath.shared.ClientException;

/** The machine as a service of Aeron Cluster: its messages, its snapshots. */
final class EngineService extends MemberService {
    private final EngineShape shape;
    private Machine machine;

    EngineService(final EngineShape shape, final int member, final PrintStream out, final PrintStream err) {
        super(member, out, err);
        this.shape = shape;
    }

    @Override
    void start(final Image snapshot) throws ClientException {
        if (snapshot == null) {
            machine = new Machine(NativeEngine.create(shape), this::reached);
            return;
        }
        final Machine.Restore pieces = new Machine.Restore();
        read(snapshot, pieces::put);
        machine = pieces.machine(this::reached);
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
        if (fault != null) {
            reject(session, fault);
        }
    }

    @Override
    void save(final ExclusivePublication publication) throws ClientException {
        machine.save(PIECE_BYTES, (bytes, offset, length) -> write(publication, bytes, offset, length));
    }

    private void reached(final long gateway, final long number, final long sequence, final long stateHash) {
        out.println("{\"member\":" + member + ",\"checkpoint\":" + number + ",\"gateway\":" + gateway
                + ",\"sequence\":" + sequence + ",\"state_hash\":\"" + String.format("%016x", stateHash) + "\"}");
    }

    @Override
    public void onTerminate(final Cluster ended) {
        machine.close();
    }
}
