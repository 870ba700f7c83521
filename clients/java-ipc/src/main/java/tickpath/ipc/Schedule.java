package tickpath.ipc;

/**
 * When each message is due, ns after the start: evenly spaced, fixed before the run, never
 * re-based. The arithmetic is that of {@code clock::schedule} in Rust, so that all clients have the
 * same schedule to the nanosecond.
 */
final class Schedule {
    /** One message a nanosecond. */
    static final double RATE_PER_SECOND_MAX = 1e9;

    /**
     * The gap with its fraction must fit 63 bits. No load worth measuring has less than a message
     * in two seconds.
     */
    static final double RATE_PER_SECOND_MIN = 0.5;

    /** Gap between messages, ns, 32 fractional bits. */
    private final long gapFixed;

    /** @param ratePerSecond within the limits above */
    Schedule(final double ratePerSecond) {
        gapFixed = Math.round(1e9 / ratePerSecond * (1L << 32));
    }

    /** When message {@code index} (from 0) is due. The product has up to 126 bits and is exact. */
    long offsetNs(final long index) {
        return Math.multiplyHigh(index, gapFixed) << 32 | index * gapFixed >>> 32;
    }
}
