package tickpath.cluster;

import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import io.aeron.logbuffer.Header;
import java.nio.ByteOrder;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The floor of {@link EngineService}: answers each command with an empty event, and has no state.
 * The same as {@code EchoService} of Aeron's samples, in our messages.
 */
final class EchoService implements ClusteredService {
    private static final ByteOrder LITTLE = ByteOrder.LITTLE_ENDIAN;

    private final UnsafeBuffer reply = new UnsafeBuffer(new byte[Messages.BODY + NativeEngine.RECORD_BYTES]);
    private IdleStrategy idle;

    @Override
    public void onStart(final Cluster cluster, final Image snapshot) {
        idle = cluster.idleStrategy();
    }

    @Override
    public void onSessionMessage(
            final ClientSession session,
            final long timestamp,
            final DirectBuffer buffer,
            final int offset,
            final int length,
            final Header header) {
        if (length != Messages.BARE_BYTES && length != Messages.COMMAND_BYTES) {
            session.close();
            return;
        }
        reply.putBytes(Messages.GATEWAY, buffer, offset + Messages.GATEWAY, Long.BYTES);
        reply.putBytes(Messages.NUMBER, buffer, offset + Messages.NUMBER, Long.BYTES);
        reply.putLong(Messages.TIME, timestamp, LITTLE);
        reply.putInt(Messages.EVENTS, length == Messages.COMMAND_BYTES ? 1 : 0, LITTLE);
        final int bytes = length == Messages.COMMAND_BYTES ? reply.capacity() : Messages.BODY;
        idle.reset();
        long result = session.offer(reply, 0, bytes);
        while (result == Publication.BACK_PRESSURED || result == Publication.ADMIN_ACTION) {
            idle.idle();
            result = session.offer(reply, 0, bytes);
        }
    }

    @Override
    public void onTakeSnapshot(final ExclusivePublication publication) {}

    @Override
    public void onRoleChange(final Cluster.Role role) {}

    @Override
    public void onTerminate(final Cluster ended) {}

    @Override
    public void onSessionOpen(final ClientSession session, final long timestamp) {}

    @Override
    public void onSessionClose(final ClientSession session, final long timestamp, final CloseReason reason) {}

    @Override
    public void onTimerEvent(final long correlationId, final long timestamp) {}
}
