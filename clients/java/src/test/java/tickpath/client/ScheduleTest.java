package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The tests of {@code clock::schedule} in Rust. */
class ScheduleTest {
    private static long[] offsets(final Schedule schedule, final int count) {
        return LongStream.range(0, count).map(index -> {
            final long offset = schedule.offsetNs();
            schedule.advance();
            return offset;
        }).toArray();
    }

    @Test
    void uniformIsEvenlySpacedFromZero() {
        final Schedule schedule = new Schedule(10_000, Schedule.Arrival.UNIFORM, 1, 0);
        assertArrayEquals(new long[] {0, 100_000, 200_000, 300_000}, offsets(schedule, 4));
    }

    @Test
    void aRateThatDoesNotDivideASecondDoesNotDrift() {
        final Schedule schedule = new Schedule(3_000_000, Schedule.Arrival.UNIFORM, 1, 0);
        for (int index = 0; index < 30_000_000; index++) {
            schedule.advance();
        }
        assertTrue(Math.abs(schedule.offsetNs() - 10_000_000_000L) <= 10, "" + schedule.offsetNs());
    }

    @Test
    void burstsAreDueTogetherAndKeepTheMeanRate() {
        final Schedule schedule = new Schedule(1_000_000, Schedule.Arrival.BURST, 3, 0);
        assertArrayEquals(new long[] {0, 0, 0, 3_000, 3_000, 3_000, 6_000}, offsets(schedule, 7));
    }

    @Test
    void poissonHasTheMeanOfExponentialGaps() {
        final int count = 200_000;
        final long[] offsets = offsets(new Schedule(1_000_000, Schedule.Arrival.POISSON, 1, 7), count);
        // Standard error of the mean is 1000 / sqrt(n) = 2.2 ns.
        assertEquals(1000, offsets[count - 1] / (double) count, 15);
        assertArrayEquals(offsets, offsets(new Schedule(1_000_000, Schedule.Arrival.POISSON, 1, 7), count));
    }

    /** The first three draws of the reference implementation for seed 0. */
    @Test
    void theGeneratorAgreesWithThePublishedSequence() {
        final SplitMix64 random = new SplitMix64(0);
        assertEquals(0xE220A8397B1DCDAFL, random.bits());
        assertEquals(0x6E789E6AA1B965F4L, random.bits());
        assertEquals(0x06C45D188009454FL, random.bits());
    }
}
