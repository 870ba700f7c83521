package tickpath.ipc;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Response and service time of every message, ns, as two unsigned 32-bit numbers, in one array that
 * is allocated before the run. A message of the warm-up takes the same path as any other.
 */
final class Samples {
    static final String MAGIC = "TPIPC001";

    /** Both numbers of a message that never arrived. */
    static final int NEVER = -1;

    /** Longer times (over 4.29 s) are stored as this. */
    static final long NS_MAX = 0xffff_fffeL;

    /** Ten samples lie above the percentile. */
    static final int LATENESS_SAMPLES_MIN = 1000;

    private static final int LOWER_HALF = (1 << Short.SIZE) - 1;
    private static final int CHUNK_BYTES = 1 << 20;

    private final int[] pairs;

    Samples(final int messages) {
        pairs = new int[2 * messages];
        Arrays.fill(pairs, NEVER);
    }

    void put(final int index, final long responseNs, final long serviceNs) {
        pairs[2 * index] = saturated(responseNs);
        pairs[2 * index + 1] = saturated(serviceNs);
    }

    private static int saturated(final long ns) {
        return (int) Math.max(0, Math.min(ns, NS_MAX));
    }

    boolean has(final int index) {
        return pairs[2 * index] != NEVER;
    }

    int received(final int from) {
        int received = 0;
        for (int index = from; index < pairs.length / 2; index++) {
            received += has(index) ? 1 : 0;
        }
        return received;
    }

    /**
     * The 99th percentile of lateness (response less service time) from message {@code from} on;
     * null below {@link #LATENESS_SAMPLES_MIN} samples. It counts by the upper half of the bits,
     * then by the lower: a copy to sort would double the memory.
     */
    Long latenessNsP99(final int from) {
        final int received = received(from);
        if (received < LATENESS_SAMPLES_MIN) {
            return null;
        }
        final long[] counts = new long[1 << Short.SIZE];
        for (int index = from; index < pairs.length / 2; index++) {
            if (has(index)) {
                counts[latenessNs(index) >>> Short.SIZE]++;
            }
        }
        long rank = (long) Math.ceil(0.99 * received);
        final int upper = bucket(counts, rank);
        for (int below = 0; below < upper; below++) {
            rank -= counts[below];
        }
        Arrays.fill(counts, 0);
        for (int index = from; index < pairs.length / 2; index++) {
            if (has(index) && latenessNs(index) >>> Short.SIZE == upper) {
                counts[latenessNs(index) & LOWER_HALF]++;
            }
        }
        return (long) upper << Short.SIZE | bucket(counts, rank);
    }

    /** Unsigned. If the response time was too long to store, so is the lateness. */
    private int latenessNs(final int index) {
        final int responseNs = pairs[2 * index];
        return responseNs == (int) NS_MAX ? responseNs : responseNs - pairs[2 * index + 1];
    }

    /** The first bucket up to which at least {@code rank} samples are counted. */
    private static int bucket(final long[] counts, final long rank) {
        int bucket = 0;
        for (long counted = counts[0]; counted < rank; counted += counts[bucket]) {
            bucket++;
        }
        return bucket;
    }

    /** Writes the samples from message {@code from} on, in order. */
    void write(final Path path, final int from) throws IOException {
        final ByteBuffer chunk = ByteBuffer.allocate(CHUNK_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        chunk.put(MAGIC.getBytes(StandardCharsets.US_ASCII));
        try (OutputStream out = Files.newOutputStream(path)) {
            for (int at = 2 * from; at < pairs.length; at++) {
                if (!chunk.hasRemaining()) {
                    out.write(chunk.array());
                    chunk.clear();
                }
                chunk.putInt(pairs[at]);
            }
            out.write(chunk.array(), 0, chunk.position());
        }
    }
}
