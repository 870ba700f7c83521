package tickpath.client;

/** The clock of all stamps: {@link System#nanoTime}, which is CLOCK_MONOTONIC without a call. */
final class Clock {
    static final String SOURCE = "monotonic";

    private static final int READINGS = 100_000;

    // An instance method, so that tests can replace it.
    long nowNs() {
        return System.nanoTime();
    }

    /** Cost of one reading, ns. */
    long costNs() {
        long best = Long.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            final long from = nowNs();
            for (int reading = 1; reading < READINGS; reading++) {
                nowNs();
            }
            best = Math.min(best, (nowNs() - from) / READINGS);
        }
        return best;
    }
}
