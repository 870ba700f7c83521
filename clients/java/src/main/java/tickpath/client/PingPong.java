package tickpath.client;

/**
 * Ping-pong: one message in flight per account. Order, ack, cancel at once, cancel ack, next order.
 */
final class PingPong {
    private final Desk desk;
    private final Plan plan;
    private long nextNumber;

    PingPong(final Desk desk, final Plan plan) {
        this.desk = desk;
        this.plan = plan;
    }

    /** Runs the load. Returns whether it was completed. */
    boolean run(final Stop stop) {
        final long startNs = desk.clock.nowNs();
        final long measureAtNs = startNs + (long) (plan.warmUpSeconds() * 1e9);
        final long endNs = measureAtNs + (long) (plan.seconds() * 1e9);
        for (int account = 0; account < plan.load().accounts(); account++) {
            begin(account);
        }
        desk.flush();
        long nowNs = startNs;
        long drainedAtNs = endNs + OpenLoop.DRAIN_NS;
        // Every account ends its last cycle, so that the book is empty again.
        while (desk.unanswered() > 0 && desk.failure == null && nowNs < drainedAtNs) {
            final boolean stopped = stop.isSet();
            if (stopped) {
                drainedAtNs = Math.min(drainedAtNs, nowNs + OpenLoop.DRAIN_NS);
            }
            final boolean continues = nowNs < endNs && !stopped;
            desk.await(nowNs + OpenLoop.WAIT_NS_MAX);
            if (desk.answeredCount > 0) {
                for (int index = 0; index < desk.answeredCount; index++) {
                    answer(desk.answered[index], desk.answeredBy[index], continues);
                }
                desk.answeredCount = 0;
                desk.flush();
            }
            nowNs = desk.clock.nowNs();
            if (nowNs >= measureAtNs && !desk.measuring) {
                desk.startMeasuring(nowNs);
            }
            desk.roll(nowNs);
            desk.checkSilence(nowNs);
        }
        if (desk.measuring && nowNs > desk.measuredFromNs) {
            desk.counts.ratePerSecondAchieved = desk.counts.sent / ((nowNs - desk.measuredFromNs) / 1e9);
        }
        return nowNs >= endNs && desk.failure == null;
    }

    private void answer(final long message, final Reply.Type type, final boolean continues) {
        final long number = message >> 1;
        if (type == Reply.Type.BOOKED) {
            if (!desk.cancel(number, desk.clock.nowNs())) {
                desk.failure = "the connection is too full for the cancel of order " + number;
            }
        } else if (continues) {
            begin(desk.accountOf(number));
        }
    }

    private void begin(final int account) {
        if (!desk.order(nextNumber, account, desk.clock.nowNs())) {
            desk.failure = "order " + nextNumber + " has to wait for an older one that is still unanswered: replies are lost";
        }
        nextNumber++;
    }
}
