package tickpath.cluster;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.TreeMap;
import org.agrona.DirectBuffer;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import tickpath.cluster.Replies.Arrival;
import tickpath.cluster.Replies.Reply;
import tickpath.shared.ClientException;

/**
 * The replicated state: the engine, and the replies that gateways may ask for again. The same
 * messages at the same times give the same replies and the same state on every member. Does no I/O
 * and reads no clock.
 */
final class Machine implements AutoCloseable {
    private static final ByteOrder LITTLE = ByteOrder.LITTLE_ENDIAN;

    /** Takes a message for the gateway; false if there is no room for it. */
    interface Egress {
        boolean send(DirectBuffer message, int length);
    }

    /** Sees a gateway's checkpoint on every member. */
    interface Checkpoints {
        void reached(long gateway, long number, long sequence, long stateHash);
    }

    private final TreeMap<Long, Replies> gateways = new TreeMap<>();
    private final UnsafeBuffer message = new UnsafeBuffer(new byte[Messages.REPLY_BYTES_MAX]);
    private final UnsafeBuffer hash = new UnsafeBuffer(new byte[Long.BYTES]);
    private final NativeEngine engine;
    private final Checkpoints checkpoints;

    Machine(final NativeEngine engine, final Checkpoints checkpoints) {
        this.engine = engine;
        this.checkpoints = checkpoints;
    }

    /**
     * Executes a message of a gateway, or answers it again.
     *
     * @return why the message breaks the contract, after which its session must be closed; null if
     *     it does not
     * @throws EngineFailedException if this member can't go on
     */
    String receive(
            final DirectBuffer buffer, final int offset, final int length, final long timeNs, final Egress egress) {
        if (length != Messages.BARE_BYTES && length != Messages.COMMAND_BYTES) {
            return "a message of " + length + " bytes: " + Messages.BARE_BYTES + " or " + Messages.COMMAND_BYTES
                    + " expected";
        }
        final long gateway = buffer.getLong(offset + Messages.GATEWAY, LITTLE);
        final long number = buffer.getLong(offset + Messages.NUMBER, LITTLE);
        if (gateway == 0 || number < 0) {
            return "gateway " + gateway + ", number " + number + ": both must be positive";
        }
        Replies replies = gateways.get(gateway);
        if (replies == null) {
            if (gateways.size() == Messages.GATEWAYS_MAX) {
                return "gateway " + gateway + " is one more than GATEWAYS_MAX = " + Messages.GATEWAYS_MAX;
            }
            replies = new Replies();
            gateways.put(gateway, replies);
        }
        if (number == 0) {
            return resume(gateway, replies, timeNs, egress);
        }
        final Arrival arrival = replies.arrives(number, buffer.getLong(offset + Messages.DONE, LITTLE));
        if (arrival == Arrival.AGAIN) {
            send(replies.get(number), gateway, egress);
        }
        if (arrival != Arrival.NEXT) {
            return null;
        }
        return length == Messages.BARE_BYTES
                ? checkpoint(gateway, number, replies, timeNs, egress)
                : execute(gateway, replies, buffer, offset + Messages.RECORD, timeNs, egress);
    }

    /** A gateway's new process learns where its numbers go on. */
    private String resume(final long gateway, final Replies replies, final long timeNs, final Egress egress) {
        message.setMemory(0, Messages.BODY, (byte) 0);
        message.putLong(Messages.GATEWAY, gateway, LITTLE);
        message.putLong(Messages.SEQUENCE, replies.last(), LITTLE);
        message.putLong(Messages.TIME, timeNs, LITTLE);
        egress.send(message, Messages.BODY);
        return null;
    }

    private String checkpoint(
            final long gateway, final long number, final Replies replies, final long timeNs, final Egress egress) {
        final long stateHash = engine.stateHash();
        hash.putLong(0, stateHash, LITTLE);
        send(replies.keep(engine.sequence(), timeNs, 0, hash, Long.BYTES), gateway, egress);
        checkpoints.reached(gateway, number, engine.sequence(), stateHash);
        return null;
    }

    private String execute(
            final long gateway,
            final Replies replies,
            final DirectBuffer buffer,
            final int offset,
            final long timeNs,
            final Egress egress) {
        final long before = engine.sequence();
        final long events = engine.apply(buffer, offset, timeNs);
        if (events < 0) {
            if (engine.sequence() != before) {
                throw new EngineFailedException(engine.error());
            }
            return "gateway " + gateway + ": " + engine.error();
        }
        final DirectBuffer output = engine.output();
        final Reply reply =
                replies.keep(engine.sequence(), timeNs, Math.toIntExact(events), output, output.capacity());
        send(reply, gateway, egress);
        return null;
    }

    /** Stops at a message that finds no room: the gateway sends the command again. */
    private void send(final Reply reply, final long gateway, final Egress egress) {
        for (int number = 0; number < reply.messages(); number++) {
            if (!egress.send(message, reply.encode(number, gateway, message))) {
                return;
            }
        }
    }

    /** Takes pieces of a saved machine. */
    interface Sink {
        void put(DirectBuffer bytes, int offset, int length);
    }

    /** Bytes of a saved machine before its parts: the length of the engine, and of the gateways. */
    static final int SAVED_HEAD_BYTES = 16;

    /** Saves everything that determines later replies, in pieces of at most this many bytes. */
    void save(final int pieceBytes, final Sink sink) throws ClientException {
        engine.save();
        final DirectBuffer saved = engine.output();
        int gatewayBytes = 0;
        for (final Replies replies : gateways.values()) {
            gatewayBytes = Math.addExact(gatewayBytes, replies.savedBytes());
        }
        final MutableDirectBuffer windows = new ExpandableArrayBuffer(Math.max(1, gatewayBytes));
        int end = 0;
        for (final var entry : gateways.entrySet()) {
            end = entry.getValue().save(entry.getKey(), windows, end);
        }
        message.putLong(0, saved.capacity(), LITTLE);
        message.putLong(8, gatewayBytes, LITTLE);
        sink.put(message, 0, SAVED_HEAD_BYTES);
        inPieces(saved, saved.capacity(), pieceBytes, sink);
        inPieces(windows, gatewayBytes, pieceBytes, sink);
    }

    private static void inPieces(final DirectBuffer bytes, final int length, final int pieceBytes, final Sink sink) {
        for (int at = 0; at < length; at += pieceBytes) {
            sink.put(bytes, at, Math.min(pieceBytes, length - at));
        }
    }

    /** Collects the pieces of a saved machine. */
    static final class Restore {
        private UnsafeBuffer bytes;
        private int engineBytes;
        private int filled;

        /** Takes the next piece; true: it was the last. */
        boolean put(final DirectBuffer piece, final int offset, final int length) {
            if (bytes == null) {
                engineBytes = Math.toIntExact(piece.getLong(offset, LITTLE));
                final int gatewayBytes = Math.toIntExact(piece.getLong(offset + 8, LITTLE));
                // The engine reads memory by its address.
                bytes = new UnsafeBuffer(ByteBuffer.allocateDirect(Math.addExact(engineBytes, gatewayBytes)));
            } else {
                bytes.putBytes(filled, piece, offset, length);
                filled += length;
            }
            return filled == bytes.capacity();
        }

        /** The machine, once {@link #put} has said that all is here. */
        Machine machine(final Checkpoints checkpoints) throws ClientException {
            final Machine machine = new Machine(NativeEngine.restore(bytes, engineBytes), checkpoints);
            for (int at = engineBytes; at < bytes.capacity(); ) {
                final Replies replies = new Replies();
                machine.gateways.put(bytes.getLong(at, LITTLE), replies);
                at = replies.restore(bytes, at);
            }
            return machine;
        }
    }

    @Override
    public void close() {
        engine.close();
    }

    /** The engine panicked: the state of this member can't be trusted any more. */
    static final class EngineFailedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        EngineFailedException(final String why) {
            super(why);
        }
    }
}
