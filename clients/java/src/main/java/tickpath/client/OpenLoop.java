package tickpath.client;

/**
 * Open loop: only the schedule decides when a message is due. It is never re-based: a late message
 * stays late. The cancel of an order is a message of the schedule, and is sent whether or not the
 * order's ack has arrived.
 */
final class OpenLoop {
    /** Time for the last replies after the last message. */
    static final long DRAIN_NS = 1_000_000_000;

    /** A sleeping thread wakes at least this often, to check whether it should stop. */
    static final long WAIT_NS_MAX = 50_000_000;

    private static final long OVERRUN_NS_MAX = 1_000_000_000;
    private static final long LEAD_NS = 1_000_000;
    private static final long WIND_UP_TURN_NS = 1_000_000;
    /**
     * Within this time before a message is due, and this share of the mean gap, the pacer makes no
     * system call: it encodes the message and spins on the clock.
     */
    private static final double GUARD_NS_MAX = 1_000;
    private static final double GUARD_SHARE_OF_GAP = 0.01;

    private final Desk desk;
    private final Plan.Load load;
    private final Schedule schedule;
    private final long startNs;
    private final long warmUpMessages;
    private final long messages;
    private final long endNs;
    private final long guardNs;
    private long heldBack = -1;

    OpenLoop(final Desk desk, final Plan plan) {
        this.desk = desk;
        load = plan.load();
        schedule = new Schedule(load.ratePerSecond(), load.arrival(), load.burst(), load.seed());
        warmUpMessages = load.messages(plan.warmUpSeconds());
        messages = warmUpMessages + load.messages(plan.seconds());
        guardNs = (long) Math.min(1e9 / load.ratePerSecond() * GUARD_SHARE_OF_GAP, GUARD_NS_MAX);
        startNs = desk.clock.nowNs() + LEAD_NS;
        endNs = startNs + (long) ((plan.warmUpSeconds() + plan.seconds()) * 1e9) + OVERRUN_NS_MAX;
    }

    /** Runs the load. Returns whether it was completed. */
    boolean run(final Stop stop) {
        while (!isOver() && desk.failure == null && !stop.isSet()) {
            sendDue();
            final long nowNs = desk.clock.nowNs();
            if (nowNs > endNs && intendedNs() < nowNs && !isOver()) {
                desk.failure = overrun();
            }
            desk.await(Math.min(intendedNs(), nowNs + WAIT_NS_MAX));
            desk.answeredCount = 0;
            desk.roll(nowNs);
            desk.checkSilence(nowNs);
        }
        desk.counts.ratePerSecondAchieved = desk.achieved(load.ratePerSecond());
        final boolean complete = isOver() && desk.failure == null;
        windUp();
        drain();
        return complete;
    }

    private boolean isOver() {
        return schedule.index() >= messages;
    }

    private long intendedNs() {
        return startNs + schedule.offsetNs();
    }

    /** Appends every message that is due or nearly due, and writes them when they are due. */
    private void sendDue() {
        final long horizonNs = desk.clock.nowNs() + guardNs;
        long dueNs = intendedNs();
        if (dueNs > horizonNs || isOver()) {
            return;
        }
        while (!isOver() && intendedNs() <= horizonNs) {
            dueNs = intendedNs();
            if (!append(dueNs)) {
                // Each message counts once, even if it is tried again.
                desk.counts.heldBack += heldBack == schedule.index() ? 0 : 1;
                heldBack = schedule.index();
                break;
            }
            schedule.advance();
        }
        while (desk.clock.nowNs() < dueNs) {
            Thread.onSpinWait();
        }
        desk.flush();
    }

    private boolean append(final long dueNs) {
        final long index = schedule.index();
        if (index == warmUpMessages && !desk.measuring) {
            desk.startMeasuring(dueNs);
        }
        final long block = index / (2L * load.cancelAfter());
        final long position = index % (2L * load.cancelAfter());
        final long first = block * load.cancelAfter();
        if (position < load.cancelAfter()) {
            final long number = first + position;
            return desk.order(number, (int) (number % load.accounts()), dueNs);
        }
        return desk.cancel(first + position - load.cancelAfter(), dueNs);
    }

    /** Cancels the orders that an interrupted run left in the book. */
    private void windUp() {
        final long block = schedule.index() / (2L * load.cancelAfter());
        final long position = schedule.index() % (2L * load.cancelAfter());
        final long first = block * load.cancelAfter();
        final long nowNs = desk.clock.nowNs();
        final long untilNs = nowNs + DRAIN_NS;
        final long cancelled = Math.max(0, position - load.cancelAfter());
        for (long number = first + cancelled; number < first + Math.min(position, load.cancelAfter()); number++) {
            while (!desk.cancel(number, nowNs)) {
                // The lane is full, so write first. An order without a cancel counts as such.
                if (desk.isBroken() || desk.clock.nowNs() > untilNs) {
                    return;
                }
                desk.flush();
                desk.await(desk.clock.nowNs() + WIND_UP_TURN_NS);
                desk.answeredCount = 0;
            }
        }
    }

    /** Waits for outstanding replies. */
    private void drain() {
        final long untilNs = desk.clock.nowNs() + DRAIN_NS;
        while (desk.unanswered() > 0 && !desk.isBroken() && desk.clock.nowNs() < untilNs) {
            desk.flush();
            desk.await(untilNs);
            desk.answeredCount = 0;
        }
    }

    private String overrun() {
        return schedule.index() + " of " + messages + " messages were sent 1 s after the end of the schedule: the load is more "
                + "than this client and that exchange can take; lower load.rate_per_second";
    }
}
