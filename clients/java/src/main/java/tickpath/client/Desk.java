package tickpath.client;

import io.netty.channel.ManualIoEventLoop;
import java.util.Arrays;
import java.util.List;

/**
 * Connections, messages in flight and stamps of the client. The load models decide which message is
 * due when; the desk sends, stamps, reads and records. All of it runs on the measuring thread,
 * which drives Netty's event loop itself.
 */
final class Desk {
    /** Limit on unanswered orders; a further one waits, and its response time contains the wait. */
    static final int IN_FLIGHT_MAX = 1 << 14;

    /** Limit on unanswered messages of a lane. */
    static final int LANE_UNANSWERED_MAX = 2048;

    /** Time that the exchange may be silent while a reply is outstanding. */
    private static final long SILENCE_NS_MAX = 5_000_000_000L;

    private static final long SILENCE_CHECK_NS = 100_000_000;
    private static final int CANCEL_BIT = 1;

    final Clock clock;
    final Counts counts = new Counts();
    boolean measuring;
    long measuredFromNs;
    /** The reason that ends the run; null while it continues. */
    String failure;

    /**
     * Messages answered in the last wait, coded as in a lane's list: twice the number, plus 1 for a
     * cancel.
     */
    final long[] answered = new long[4 * IN_FLIGHT_MAX];
    final Reply.Type[] answeredBy = new Reply.Type[4 * IN_FLIGHT_MAX];
    int answeredCount;

    private final ManualIoEventLoop loop;
    private final boolean spins;
    private final boolean writesInNextTurn;
    private final boolean isOpen;
    private final Lane[] lanes;
    private final Dialect dialect;
    private final Recorder recorder;
    private final Usage usage;
    private final byte[] scratch = new byte[Lane.WAITING_BYTES_MAX];
    private final Order[] slots = new Order[IN_FLIGHT_MAX];
    private final Lane[] dirty;
    private int dirtyCount;
    /**
     * Lanes that were flushed, and whose writes the next turn of the loop submits to the kernel.
     */
    private final Lane[] queued;
    private int queuedCount;
    private long unanswered;
    private long sequence;
    private long nextSilenceCheckNs;
    private long lastSentNs;
    private long lastIntendedNs;
    private boolean broken;
    private String complaint;

    Desk(final Clock clock, final ManualIoEventLoop loop, final Transport transport, final Plan plan, final List<Lane> lanes,
            final Dialect dialect, final Recorder recorder, final Usage usage) {
        this.clock = clock;
        this.loop = loop;
        this.dialect = dialect;
        this.recorder = recorder;
        this.usage = usage;
        this.lanes = lanes.toArray(Lane[]::new);
        spins = plan.spins();
        isOpen = plan.load().open();
        writesInNextTurn = transport.writesInNextTurn();
        dirty = new Lane[lanes.size()];
        queued = new Lane[lanes.size()];
        Arrays.setAll(slots, slot -> new Order());
        lanes.forEach(lane -> lane.attach(this));
    }

    /** Ends the warm-up: orders from here on are measured. */
    void startMeasuring(final long nowNs) {
        measuring = true;
        measuredFromNs = nowNs;
        usage.begin();
        recorder.start(nowNs);
    }

    /** Appends a new order; the next {@link #flush} sends it. False if it must wait. */
    boolean order(final long number, final int account, final long intendedNs) {
        final Order order = slots[(int) (number % IN_FLIGHT_MAX)];
        final Lane lane = lanes[account % lanes.length];
        if (lane.isFull(LANE_UNANSWERED_MAX) || !order.isOver()) {
            return false;
        }
        order.open(number, account, measuring);
        order.orderIntendedNs = intendedNs;
        order.orderSequence = ++sequence;
        order.order = Order.IN_FLIGHT;
        append(lane, order, number << 1, intendedNs);
        return true;
    }

    /** Appends the cancel of an order. False if it must wait. */
    boolean cancel(final long number, final long intendedNs) {
        final Order order = slots[(int) (number % IN_FLIGHT_MAX)];
        final Lane lane = lanes[order.account % lanes.length];
        if (order.number != number || lane.isFull(LANE_UNANSWERED_MAX)) {
            return false;
        }
        if (order.measured && order.order != Order.ANSWERED) {
            counts.overtakes++;
        }
        order.cancelIntendedNs = intendedNs;
        order.cancelSequence = ++sequence;
        order.cancel = Order.IN_FLIGHT;
        append(lane, order, number << 1 | CANCEL_BIT, intendedNs);
        return true;
    }

    private void append(final Lane lane, final Order order, final long message, final long intendedNs) {
        final boolean isOrder = (message & CANCEL_BIT) == 0;
        final int bytes = dialect.encode(scratch, isOrder, message >> 1, order.account);
        lane.append(scratch, bytes, message);
        if (lane.unanswered == 0) {
            lane.quietSinceNs = clock.nowNs();
        }
        lane.unanswered++;
        unanswered++;
        makeDirty(lane);
        counts.length(isOrder ? Counts.ORDER : Counts.CANCEL, bytes);
        if (order.measured) {
            counts.sent++;
        } else {
            counts.warmUpSent++;
        }
        lastIntendedNs = intendedNs;
    }

    private void makeDirty(final Lane lane) {
        if (!lane.dirty) {
            lane.dirty = true;
            dirty[dirtyCount++] = lane;
        }
    }

    /** Writes what was appended, one call per lane. */
    void flush() {
        int kept = 0;
        for (int index = 0; index < dirtyCount; index++) {
            final Lane lane = dirty[index];
            if (broken || lane.flush()) {
                lane.dirty = false;
                if (writesInNextTurn) {
                    queued[queuedCount++] = lane;
                } else {
                    sent(lane, lane.stamp.flushNs());
                    lateness(lane);
                }
            } else {
                dirty[kept++] = lane;
            }
        }
        dirtyCount = kept;
    }

    /** The send stamp for every message of a batch. */
    private void sent(final Lane lane, final long stampNs) {
        for (int position = 0; position < lane.flushed(); position++) {
            final long message = lane.flushed(position);
            final Order order = slots[(int) ((message >> 1) % IN_FLIGHT_MAX)];
            if ((message & CANCEL_BIT) == 0) {
                order.orderSentNs = stampNs;
            } else {
                order.cancelSentNs = stampNs;
            }
            lastSentNs = stampNs;
        }
    }

    private void lateness(final Lane lane) {
        if (!isOpen) {
            return;
        }
        for (int position = 0; position < lane.flushed(); position++) {
            final long message = lane.flushed(position);
            final Order order = slots[(int) ((message >> 1) % IN_FLIGHT_MAX)];
            if (order.measured && order.number == message >> 1) {
                recorder.record(
                        Recorder.SEND_LATENESS,
                        (message & CANCEL_BIT) == 0
                                ? order.orderSentNs - order.orderIntendedNs
                                : order.cancelSentNs - order.cancelIntendedNs);
            }
        }
    }

    /** One turn of the event loop. Sleeps until there is something to read if the plan says so. */
    void await(final long untilNs) {
        final int written = queuedCount;
        if (written > 0) {
            final long stampNs = clock.nowNs();
            for (int index = 0; index < written; index++) {
                sent(queued[index], stampNs);
            }
        }
        if (spins) {
            loop.runNow();
        } else {
            final long leftNs = untilNs - clock.nowNs();
            loop.run(leftNs > 0 ? leftNs : -1);
        }
        for (int index = 0; index < written; index++) {
            lateness(queued[index]);
        }
        queuedCount = 0;
        if (dirtyCount > 0) {
            flush();
        }
    }

    /** Reads the messages that arrived on a lane. Netty calls it within {@link #await}. */
    void received(final Lane lane) {
        lane.quietSinceNs = lane.stamp.readNs();
        dialect.received(lane, this);
    }

    /** Takes a reply to a message of an order; {@code reader} has it. */
    void report(final Lane lane, final StreamReader reader, final Reply.Type type, final long number) {
        final Order order = slots[(int) (number % IN_FLIGHT_MAX)];
        // Replies come in order, so a rejection belongs to the message that was sent first.
        final boolean isOrder =
                type == Reply.Type.BOOKED || type == Reply.Type.REJECTED && order.order == Order.IN_FLIGHT;
        if (order.number != number || (isOrder ? order.order : order.cancel) != Order.IN_FLIGHT) {
            counts.duplicated++;
            return;
        }
        final long itsSequence = isOrder ? order.orderSequence : order.cancelSequence;
        if (isOrder) {
            order.order = Order.ANSWERED;
        } else {
            order.cancel = Order.ANSWERED;
        }
        unanswered--;
        answered[answeredCount] = number << 1 | (isOrder ? 0 : CANCEL_BIT);
        answeredBy[answeredCount++] = type;
        lanes[order.account % lanes.length].unanswered--;
        if (itsSequence < lane.answeredSequence) {
            counts.outOfOrder++;
        }
        lane.answeredSequence = Math.max(lane.answeredSequence, itsSequence);
        if (order.measured) {
            counts.received++;
            if (type == Reply.Type.REJECTED) {
                counts.rejected++;
            } else {
                record(order, isOrder, reader);
            }
        }
    }

    private void record(final Order order, final boolean isOrder, final StreamReader reader) {
        final long atNs = reader.frameNs();
        if (isOrder) {
            counts.length(Counts.ORDER_REPLY, reader.frameBytes());
            recorder.record(Recorder.ORDER_SERVICE, atNs - order.orderSentNs);
            if (isOpen) {
                recorder.record(Recorder.ORDER_RESPONSE, atNs - order.orderIntendedNs);
            }
            return;
        }
        counts.length(Counts.CANCEL_REPLY, reader.frameBytes());
        recorder.record(Recorder.CANCEL_SERVICE, atNs - order.cancelSentNs);
        if (isOpen) {
            recorder.record(Recorder.CANCEL_RESPONSE, atNs - order.cancelIntendedNs);
        } else {
            recorder.record(Recorder.CYCLE_SERVICE, atNs - order.orderSentNs);
        }
    }

    /** Sends what a dialect must answer at once, with the next {@link #flush}. */
    void answer(final Lane lane, final byte[] bytes) {
        lane.append(bytes);
        makeDirty(lane);
    }

    void unexpected(final String what) {
        counts.unexpected++;
        complain(what);
    }

    /** Keeps the first complaint. */
    void complain(final String what) {
        if (complaint == null) {
            complaint = what;
        }
    }

    /** Ends the run because a connection has failed. */
    void fail(final Lane lane, final String why) {
        broken = true;
        if (failure == null) {
            failure = "connection " + lane.index + " of " + lanes.length + " ended in mid-run: " + why;
        }
    }

    boolean isBroken() {
        return broken;
    }

    long unanswered() {
        return unanswered;
    }

    /** The account of an order that was answered. */
    int accountOf(final long number) {
        return slots[(int) (number % IN_FLIGHT_MAX)].account;
    }

    String complaint() {
        return complaint;
    }

    void roll(final long nowNs) {
        recorder.roll(nowNs);
    }

    /** Fails the run if a connection has outstanding replies and has been silent for too long. */
    void checkSilence(final long nowNs) {
        if (nowNs < nextSilenceCheckNs) {
            return;
        }
        nextSilenceCheckNs = nowNs + SILENCE_CHECK_NS;
        for (final Lane lane : lanes) {
            if (lane.unanswered > 0 && nowNs > lane.quietSinceNs + SILENCE_NS_MAX && failure == null) {
                broken = true;
                failure = "no reply on connection " + lane.index + " for 5 s while " + lane.unanswered
                        + " messages were unanswered there: is the other end still alive?";
            }
        }
    }

    /** The achieved rate; lower than {@code offered} if sending took longer than planned. */
    double achieved(final double offered) {
        if (!measuring || counts.sent == 0) {
            return 0;
        }
        final double gapNs = 1e9 / offered;
        final double scheduledNs = Math.max(0, lastIntendedNs - measuredFromNs);
        final double tookNs = Math.max(0, lastSentNs - measuredFromNs);
        return offered * (scheduledNs + gapNs) / Math.max(tookNs + gapNs, scheduledNs + gapNs);
    }

    /** Ends the last interval. */
    void finish() {
        usage.end();
        counts.lost = unanswered;
        recorder.finish(clock.nowNs());
    }
}
