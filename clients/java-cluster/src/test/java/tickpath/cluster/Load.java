package tickpath.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Random;
import java.util.TreeMap;
import org.agrona.CloseHelper;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import tickpath.shared.ClientException;

/**
 * A gateway that gives orders and cancels, and remembers what the cluster acknowledged: the
 * checker of the tests.
 */
final class Load implements AutoCloseable {
    private static final long GATEWAY = 36;
    private static final long SEED = 36;

    private final ClusterClient client;
    private final Gateway gateway;
    private final Random random = new Random(SEED);
    /** Commands that are not replayed yet. */
    private final TreeMap<Long, Acknowledged> byNumber = new TreeMap<>();

    /** Has applied all commands before those; its memory is the process's until it ends. */
    private final NativeEngine replayed;

    /** Ids of orders that were booked, and perhaps are still open. */
    private final ArrayDeque<long[]> booked = new ArrayDeque<>();

    private long lastNumber;

    Load(final ClusterFile cluster) throws ClientException {
        this(cluster, NativeEngine.create(cluster.engine()), 0);
    }

    private Load(final ClusterFile cluster, final NativeEngine replayed, final long lastNumber) {
        this.replayed = replayed;
        this.lastNumber = lastNumber;
        client = new ClusterClient(Path.of("/dev/shm")
                .resolve("tickpath-cluster-load-" + ProcessHandle.current().pid() + "-" + System.nanoTime()));
        gateway = new Gateway(GATEWAY, client.aeron(), cluster, "127.0.0.1", this::onReply);
    }

    /** The same gateway as a new process, which must continue the numbers without being told. */
    Load resumed(final ClusterFile cluster) {
        return new Load(cluster, replayed, lastNumber);
    }

    boolean isReady() {
        return gateway.isReady();
    }

    int poll() {
        return gateway.poll();
    }

    int leader() {
        return gateway.leader();
    }

    int unanswered() {
        return gateway.unanswered();
    }

    /** Gives an order, or a cancel of one that was booked. False: the window is full. */
    boolean give() {
        final UnsafeBuffer record;
        if (random.nextInt(3) == 0 && !booked.isEmpty()) {
            final long[] order = booked.removeFirst();
            record = Orders.cancel((int) order[1], (int) lastNumber, order[0]);
        } else {
            final boolean sell = random.nextBoolean();
            final long price = (sell ? 1_000 : 995) + random.nextInt(10) - 3;
            record = Orders.order(sell, random.nextInt(4), (int) lastNumber, price, 1 + random.nextInt(20));
        }
        final long number = gateway.give(record, 0);
        if (number > 0) {
            remember(number, record);
        }
        return number > 0;
    }

    long checkpoint() {
        final long number = gateway.checkpoint();
        remember(number, null);
        return number;
    }

    private void remember(final long number, final UnsafeBuffer record) {
        assertEquals(lastNumber + 1, number, "the gateway's numbers");
        lastNumber = number;
        byNumber.put(number, new Acknowledged(record));
    }

    private void onReply(
            final long number,
            final long sequence,
            final long timeNs,
            final int events,
            final int earlier,
            final DirectBuffer buffer,
            final int offset,
            final int length) {
        final Acknowledged command = byNumber.get(number);
        assertFalse(command.isComplete, "answered twice: " + number);
        assertEquals(command.filled, earlier * NativeEngine.RECORD_BYTES);
        command.sequence = sequence;
        command.timeNs = timeNs;
        if (command.record == null) {
            command.isComplete = true;
            return;
        }
        if (earlier == 0) {
            command.events = new byte[events * NativeEngine.RECORD_BYTES];
        }
        buffer.getBytes(offset, command.events, command.filled, length);
        command.filled += length;
        command.isComplete = command.filled == command.events.length;
        for (int at = 0; at < length; at += NativeEngine.RECORD_BYTES) {
            if (buffer.getByte(offset + at + 8) == 1) {
                booked.add(new long[] {buffer.getLong(offset + at + 24), buffer.getInt(offset + at + 16)});
            }
        }
    }

    /**
     * Applies what was acknowledged since the last call to an engine of its own, in the order of
     * the cluster. Every command must be there once and have had the same events.
     *
     * @return the state hash
     */
    long replay() {
        while (!byNumber.isEmpty()) {
            final var entry = byNumber.pollFirstEntry();
            final Acknowledged command = entry.getValue();
            assertTrue(command.isComplete, () -> "no reply: " + entry.getKey());
            if (command.record != null) {
                // One gateway: its order is the cluster's.
                replayed.apply(command.record, 0, command.timeNs);
                final byte[] events = new byte[replayed.output().capacity()];
                replayed.output().getBytes(0, events);
                assertArrayEquals(events, command.events, () -> "events of " + entry.getKey());
            }
            assertEquals(replayed.sequence(), command.sequence, () -> "lost or doubled before " + entry.getKey());
        }
        return replayed.stateHash();
    }

    @Override
    public String toString() {
        return "gateway: ready " + isReady() + ", last " + lastNumber + ", unanswered " + unanswered() + ", sessions "
                + gateway.sessions() + ", resent " + gateway.resent() + ", leader " + leader();
    }

    @Override
    public void close() {
        CloseHelper.closeAll(gateway, client);
    }

    private static final class Acknowledged {
        private final UnsafeBuffer record;
        private long sequence;
        private long timeNs;
        private byte[] events = new byte[0];
        private int filled;
        private boolean isComplete;

        Acknowledged(final UnsafeBuffer record) {
            this.record = record;
        }
    }
}
