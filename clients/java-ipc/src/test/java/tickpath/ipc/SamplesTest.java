package tickpath.ipc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SamplesTest {
    @TempDir
    Path directory;

    @Test
    void theFileIsMagicAndPairsInOrder() throws IOException {
        final Samples samples = new Samples(4);
        samples.put(3, 400, 40);
        samples.put(0, 100, 10);
        samples.put(1, 0x1_0000_0000L, 0xffff_ffffL);
        samples.write(directory.resolve("s"), 1);
        final ByteBuffer expected = ByteBuffer.allocate(8 + 3 * 8).order(ByteOrder.LITTLE_ENDIAN);
        expected.put("TPIPC001".getBytes()).putInt(-2).putInt(-2).putInt(-1).putInt(-1).putInt(400).putInt(40);
        assertArrayEquals(expected.array(), Files.readAllBytes(directory.resolve("s")));
    }

    @Test
    void aFileLongerThanAChunkIsWhole() throws IOException {
        final int messages = 300_000;
        final Samples samples = new Samples(messages);
        for (int index = 0; index < messages; index++) {
            samples.put(index, 2L * index, index);
        }
        samples.write(directory.resolve("s"), 0);
        final ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(directory.resolve("s"))).order(ByteOrder.LITTLE_ENDIAN);
        assertEquals(8 + 8 * messages, file.capacity());
        for (int index = 0; index < messages; index++) {
            assertEquals(2 * index, file.getInt(8 + 8 * index));
            assertEquals(index, file.getInt(12 + 8 * index));
        }
    }

    @Test
    void theLongestTimeIsNotTakenForAMissingMessage() {
        final Samples samples = new Samples(2);
        samples.put(0, Long.MAX_VALUE, Long.MAX_VALUE);
        assertTrue(samples.has(0));
        assertFalse(samples.has(1));
        assertEquals(1, samples.received(0));
        assertEquals(0, samples.received(1));
    }

    @Test
    void latenessIsThatOfSortedSamples() {
        final Random random = new Random(5);
        for (int round = 0; round < 20; round++) {
            final int messages = 1_500 + random.nextInt(5_000);
            final Samples samples = new Samples(messages);
            final double octaves = random.nextDouble() * 31.9;
            final long[] latenesses = new long[messages];
            int count = 0;
            for (int index = 0; index < messages; index++) {
                final long serviceNs = random.nextInt(1_000);
                final long latenessNs = (long) Math.pow(2, random.nextDouble() * octaves);
                // One in ten never arrives, and the first hundred don't count.
                if (random.nextInt(10) > 0) {
                    samples.put(index, latenessNs + serviceNs, serviceNs);
                    if (index >= 100) {
                        latenesses[count++] = latenessNs;
                    }
                }
            }
            Arrays.sort(latenesses, 0, count);
            assertEquals(latenesses[(int) Math.ceil(0.99 * count) - 1], samples.latenessNsP99(100));
        }
    }

    @Test
    void aResponseTooLongToStoreIsAsLate() {
        final Samples samples = new Samples(1_000);
        for (int index = 0; index < 1_000; index++) {
            samples.put(index, Samples.NS_MAX + 1, 100);
        }
        assertEquals(Samples.NS_MAX, samples.latenessNsP99(0));
    }

    @Test
    void aPercentileThatTheSamplesCannotSupportIsNone() {
        final Samples samples = new Samples(Samples.LATENESS_SAMPLES_MIN);
        for (int index = 1; index < Samples.LATENESS_SAMPLES_MIN; index++) {
            samples.put(index, 10, 5);
        }
        assertNull(samples.latenessNsP99(0));
        samples.put(0, 10, 5);
        assertEquals(5, samples.latenessNsP99(0));
    }
}
