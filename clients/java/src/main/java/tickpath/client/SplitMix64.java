package tickpath.client;

/** The generator of {@code clock::random} in Rust: the same seed gives the same schedule. */
final class SplitMix64 {
    private long state;

    SplitMix64(final long seed) {
        state = seed;
    }

    long bits() {
        state += 0x9E3779B97F4A7C15L;
        long z = state;
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }

    /** A number in (0, 1], so that its logarithm exists. */
    double unitOpen() {
        return ((bits() >>> 11) + 1) / (double) (1L << 53);
    }
}
