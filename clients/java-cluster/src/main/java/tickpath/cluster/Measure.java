package tickpath.cluster;

import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.HdrHistogram.Histogram;
import org.agrona.CloseHelper;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import tickpath.shared.ClientException;

/**
 * A load on a schedule that nothing shifts: an order and its cancel, in turn. A response
 * time lasts from when a command was due to the last message of its reply, so a pause of the
 * cluster is in it.
 */
final class Measure implements AutoCloseable {
    private static final ByteOrder LITTLE = ByteOrder.LITTLE_ENDIAN;
    private static final int MASK = Messages.WINDOW - 1;
    private static final long CONNECT_SECONDS_MAX = 60;
    private static final long ANSWER_SECONDS_MAX = 60;
    private static final byte ORDER = 1;
    private static final byte CANCEL = 3;
    private static final double SECOND_NS = 1e9;
    private static final double MICROSECOND_NS = 1e3;
    private static final double MILLISECOND_NS = 1e6;

    /** Samples beyond a percentile, without which it is not printed. */
    private static final int BEYOND_MIN = 10;

    /** Whether to end before the schedule does. */
    private final BooleanSupplier interrupted;

    private final ClusterClient client;
    private final Gateway gateway;
    private final Histogram responses = new Histogram(TimeUnit.MINUTES.toNanos(10), 3);
    private final UnsafeBuffer record = new UnsafeBuffer(new byte[NativeEngine.RECORD_BYTES]);
    /** By the command's slot in the window: when it was due; 0 in the warm-up. */
    private final long[] due = new long[Messages.WINDOW];

    /** Another thread may watch it. */
    private volatile long answered;

    /** Replies of the warm-up count, too: a pause that begins in it goes on after it. */
    private long lastReplyNs;

    private long longestPauseNs;

    /**
     * Connects.
     *
     * @param id of the gateway
     * @param host where the cluster reaches this machine
     * @param interrupted asked again and again: whether to end before the schedule does
     */
    Measure(final ClusterFile cluster, final long id, final String host, final BooleanSupplier interrupted) {
        this.interrupted = interrupted;
        client = new ClusterClient(memory(ProcessHandle.current().pid(), id));
        gateway = new Gateway(id, client.aeron(), cluster, host, this::onReply);
    }

    /** The directory of a gateway's media driver. */
    static Path memory(final long process, final long id) {
        return Main.MEMORY.resolve("tickpath-cluster-gateway-" + process + "-" + id);
    }

    /**
     * Measures.
     *
     * @param ratePerSecond of messages
     * @return a line for stdout
     */
    JsonObject run(final double ratePerSecond, final double warmUpSeconds, final double seconds)
            throws ClientException {
        final long connectBy = System.nanoTime() + TimeUnit.SECONDS.toNanos(CONNECT_SECONDS_MAX);
        while (!gateway.isReady()) {
            gateway.poll();
            beforeDeadline(connectBy, "the cluster has no leader that answers, after " + CONNECT_SECONDS_MAX + " s");
        }
        final long warmUp = Math.round(warmUpSeconds * ratePerSecond);
        final long messages = warmUp + Math.round(seconds * ratePerSecond);
        final long begin = System.nanoTime();
        long order = 0;
        for (long message = 0; message < messages; message++) {
            final long dueNs = begin + (long) (message * SECOND_NS / ratePerSecond);
            while (System.nanoTime() - dueNs < 0) {
                gateway.poll();
                unlessInterrupted();
            }
            order = give(order, message >= warmUp ? dueNs : 0);
        }
        final long answerBy = System.nanoTime() + TimeUnit.SECONDS.toNanos(ANSWER_SECONDS_MAX);
        while (gateway.unanswered() > 0) {
            gateway.poll();
            beforeDeadline(answerBy, gateway.unanswered() + " commands have no reply " + ANSWER_SECONDS_MAX + " s after the last");
        }
        return result(ratePerSecond, messages - warmUp);
    }

    /** Measured messages with a reply so far; for any thread. */
    long answered() {
        return answered;
    }

    private void unlessInterrupted() throws ClientException {
        if (interrupted.getAsBoolean()) {
            throw new ClientException("interrupted after " + answered + " measured replies: there is no result");
        }
    }

    private void beforeDeadline(final long deadlineNs, final String otherwise) throws ClientException {
        unlessInterrupted();
        if (System.nanoTime() - deadlineNs > 0) {
            throw new ClientException(otherwise + ": see the members' stderr");
        }
    }

    /**
     * Gives the cancel of this order, or the next order.
     *
     * @param order 0 if there is none to cancel
     * @return the order to cancel next
     */
    private long give(final long order, final long dueNs) throws ClientException {
        final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(ANSWER_SECONDS_MAX);
        while (gateway.unanswered() == Messages.WINDOW) {
            gateway.poll();
            beforeDeadline(deadline, "the window has no room for " + ANSWER_SECONDS_MAX + " s");
        }
        // An id of its own: the cancel can be encoded before the order's reply is here.
        final long id = order == 0 ? gateway.nextNumber() : order;
        record.setMemory(0, record.capacity(), (byte) 0);
        record.putByte(8, order == 0 ? ORDER : CANCEL);
        record.putLong(24, id, LITTLE);
        if (order == 0) {
            record.putLong(32, 1, LITTLE);
            record.putLong(40, 1, LITTLE);
        }
        due[(int) gateway.nextNumber() & MASK] = dueNs;
        gateway.give(record, 0);
        gateway.poll();
        return order == 0 ? id : 0;
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
        if (earlier + length / NativeEngine.RECORD_BYTES < events) {
            return;
        }
        final long now = System.nanoTime();
        if (lastReplyNs != 0) {
            longestPauseNs = Math.max(longestPauseNs, now - lastReplyNs);
        }
        lastReplyNs = now;
        final long dueNs = due[(int) number & MASK];
        if (dueNs == 0) {
            return;
        }
        responses.recordValue(Math.max(0, now - dueNs));
        answered = answered + 1;
    }

    private JsonObject result(final double ratePerSecond, final long sent) {
        final JsonObject micros = new JsonObject();
        for (final String percentile : new String[] {"50", "90", "99", "99.9", "99.99"}) {
            final double percent = Double.parseDouble(percentile);
            final String name = "p" + percentile.replace('.', '_');
            if (answered * (100 - percent) / 100 >= BEYOND_MIN) {
                micros.addProperty(name, responses.getValueAtPercentile(percent) / MICROSECOND_NS);
            } else {
                micros.add(name, JsonNull.INSTANCE);
            }
        }
        micros.addProperty("max", responses.getMaxValue() / MICROSECOND_NS);
        final JsonObject result = new JsonObject();
        result.addProperty("rate_per_second", ratePerSecond);
        result.addProperty("sent", sent);
        result.addProperty("answered", answered);
        result.addProperty("sent_again", gateway.resent());
        result.addProperty("sessions", gateway.sessions());
        result.addProperty("leaders", gateway.leaders());
        result.addProperty("votes", gateway.votes());
        result.addProperty("longest_pause_ms", longestPauseNs / MILLISECOND_NS);
        result.add("response_us", micros);
        return result;
    }

    @Override
    public void close() {
        CloseHelper.closeAll(gateway, client);
    }
}
