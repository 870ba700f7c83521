package tickpath.cluster;

import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.logbuffer.Header;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import org.agrona.DirectBuffer;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.concurrent.AgentTerminationException;
import org.agrona.concurrent.UnsafeBuffer;
import tickpath.shared.ClientException;
import tickpath.shared.ExitStatus;

/**
 * The follower of an exchange as a service of Aeron Cluster: each member keeps a copy of the
 * exchange's journal. A session of the cluster is a connection of the exchange.
 */
final class CopyService extends MemberService {
    private static final ByteOrder LITTLE = ByteOrder.LITTLE_ENDIAN;

    /** Time for the last words of a process that ends; its stderr may be on the same disk. */
    private static final long LAST_WORDS_MS = 200;

    private final Path directory;
    private final DiskWatch watch;
    private final UnsafeBuffer head = new UnsafeBuffer(new byte[Long.BYTES]);
    private final ExpandableArrayBuffer reply = new ExpandableArrayBuffer();
    private NativeCopy copy;

    /**
     * A copy.
     *
     * @param directory opens as a journal of the exchange
     * @param diskTimeoutNs time after which a leader ends whose disk takes nothing
     */
    CopyService(
            final Path directory,
            final long diskTimeoutNs,
            final int member,
            final PrintStream out,
            final PrintStream err) {
        super(member, out, err);
        this.directory = directory;
        watch = new DiskWatch(diskTimeoutNs, () -> cluster.role() == Cluster.Role.LEADER, this::diskIsHalted);
    }

    /** The process ends at once: in order, it would wait for the disk. */
    private void diskIsHalted() {
        final Thread words = new Thread(() -> err.println("member " + member + ": its disk takes nothing, at "
                + directory + ". It ends because it leads: another member goes on. Start it again"));
        words.setDaemon(true);
        words.start();
        try {
            words.join(LAST_WORDS_MS);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().halt(ExitStatus.INCOMPLETE);
    }

    @Override
    void start(final Image snapshot) throws ClientException {
        watch.start();
        if (snapshot == null) {
            copy = NativeCopy.open(directory, null);
            return;
        }
        final Saved saved = new Saved();
        read(snapshot, saved);
        copy = NativeCopy.open(directory, saved.bytes);
    }

    @Override
    public void onSessionMessage(
            final ClientSession session,
            final long timestamp,
            final DirectBuffer buffer,
            final int offset,
            final int length,
            final Header header) {
        final int bytes = length - Stream.BYTES;
        if (bytes < 0 || bytes > Stream.BYTES_MAX) {
            reject(session, "a message of " + length + " bytes: " + Stream.BYTES + " to "
                    + (Stream.BYTES + Stream.BYTES_MAX) + " expected");
            return;
        }
        final long at = buffer.getLong(offset + Stream.AT, LITTLE);
        final long before = copy.followed();
        watch.given();
        try {
            copy.receive(session.id(), at, buffer, offset + Stream.BYTES, bytes);
        } catch (final ClientException e) {
            throw new AgentTerminationException(e);
        } finally {
            watch.taken();
        }
        final long followed = copy.followed();
        reply.putBytes(Stream.REPLY, copy.output(), 0, copy.output().capacity());
        answer(session, at, bytes, followed != session.id(), copy.output().capacity());
        if (followed == before) {
            return;
        }
        out.println("{\"member\":" + member + ",\"connection\":" + followed + ",\"next\":" + copy.nextSequence()
                + ",\"term\":" + copy.term() + "}");
        final ClientSession replaced = before == session.id() ? null : cluster.getClientSession(before);
        if (replaced != null) {
            answer(replaced, 0, 0, true, 0);
        }
    }

    private void answer(
            final ClientSession session, final long at, final int taken, final boolean isOver, final int length) {
        reply.putLong(Stream.AT, at, LITTLE);
        reply.putInt(Stream.TAKEN, taken, LITTLE);
        reply.putInt(Stream.OVER, isOver ? 1 : 0, LITTLE);
        // Without room: the gateway sees that a reply is missing, and the exchange connects again.
        send(session, reply, Stream.REPLY + length);
    }

    @Override
    void save(final ExclusivePublication publication) throws ClientException {
        copy.save();
        final DirectBuffer saved = copy.output();
        head.putLong(0, saved.capacity(), LITTLE);
        write(publication, head, 0, Long.BYTES);
        for (int at = 0; at < saved.capacity(); at += PIECE_BYTES) {
            write(publication, saved, at, Math.min(PIECE_BYTES, saved.capacity() - at));
        }
    }

    /** Collects the pieces of a saved copy. */
    private static final class Saved implements Pieces {
        private UnsafeBuffer bytes;
        private int filled;

        @Override
        public boolean put(final DirectBuffer piece, final int offset, final int length) {
            if (bytes == null) {
                // The library reads memory by its address.
                bytes = new UnsafeBuffer(
                        ByteBuffer.allocateDirect(Math.toIntExact(piece.getLong(offset, LITTLE))));
            } else {
                bytes.putBytes(filled, piece, offset, length);
                filled += length;
            }
            return filled == bytes.capacity();
        }
    }

    @Override
    public void onTerminate(final Cluster ended) {
        copy.close();
    }
}
