package tickpath.client;

/**
 * When each message is due, ns after the start: fixed before the run, never re-based. The
 * arithmetic is that of {@code clock::schedule} in Rust, so that all clients have the same schedule
 * to the nanosecond.
 */
final class Schedule {
    /** The distribution of messages over time. */
    enum Arrival {
        UNIFORM,
        POISSON,
        BURST
    }

    /** One message a nanosecond. */
    static final double RATE_PER_SECOND_MAX = 1e9;

    private static final double FIXED_ONE = 1L << 32;
    private static final long FRACTION = (1L << 32) - 1;

    private final Arrival arrival;
    /** Mean gap between messages, ns, with 32 fractional bits in the second number. */
    private final long gapNs;
    private final long gapFraction;
    private final double gapFixed;
    private final long burst;
    private final SplitMix64 random;
    private long index;
    private long offsetNs;
    private long offsetFraction;

    Schedule(final double ratePerSecond, final Arrival arrival, final long burst, final long seed) {
        this.arrival = arrival;
        this.burst = burst;
        gapFixed = Math.rint(1e9 / ratePerSecond * FIXED_ONE);
        gapNs = (long) (gapFixed / FIXED_ONE);
        gapFraction = (long) (gapFixed - gapNs * FIXED_ONE);
        random = new SplitMix64(seed);
        if (arrival == Arrival.POISSON) {
            addExponentialGap();
        }
    }

    /** When the next message is due, ns after the start. */
    long offsetNs() {
        return offsetNs;
    }

    /** The number of the next message, from 0. */
    long index() {
        return index;
    }

    /** Moves to the message after it. */
    void advance() {
        index++;
        switch (arrival) {
            case UNIFORM -> add(gapNs, gapFraction);
            case POISSON -> addExponentialGap();
            case BURST -> {
                if (index % burst == 0) {
                    final long fraction = gapFraction * burst;
                    add(gapNs * burst + (fraction >>> 32), fraction & FRACTION);
                }
            }
        }
    }

    private void addExponentialGap() {
        final double fixed = -Math.log(random.unitOpen()) * gapFixed;
        final long ns = (long) (fixed / FIXED_ONE);
        add(ns, (long) (fixed - ns * FIXED_ONE));
    }

    private void add(final long ns, final long fraction) {
        final long sum = offsetFraction + fraction;
        offsetNs += ns + (sum >>> 32);
        offsetFraction = sum & FRACTION;
    }
}
