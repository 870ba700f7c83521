package tickpath.ipc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ScheduleTest {
    @Test
    void isEvenlySpacedFromZero() {
        final Schedule schedule = new Schedule(1_000_000);
        assertEquals(0, schedule.offsetNs(0));
        assertEquals(1_000, schedule.offsetNs(1));
        assertEquals(15_000_000_000L, schedule.offsetNs(15_000_000));
    }

    @Test
    void gapsThatAreNoWholeNanosecondDoNotAddUp() {
        final Schedule schedule = new Schedule(3_000_000);
        assertEquals(333, schedule.offsetNs(1));
        assertEquals(666, schedule.offsetNs(2));
        assertEquals(1_000_000_000L, schedule.offsetNs(3_000_000), 1);
        // A day.
        assertEquals(86_400_000_000_000L, schedule.offsetNs(86_400L * 3_000_000), 100);
    }

    @Test
    void isTheProductOfIndexAndGapCutOff() {
        final Random random = new Random(4);
        for (int round = 0; round < 10_000; round++) {
            final double rate = Math.exp(random.nextDouble() * Math.log(1e9));
            final long index = random.nextInt(Integer.MAX_VALUE);
            final BigInteger gap = BigInteger.valueOf(Math.round(1e9 / rate * 0x1p32));
            final long expected = gap.multiply(BigInteger.valueOf(index)).shiftRight(32).longValueExact();
            assertEquals(expected, new Schedule(rate).offsetNs(index), () -> "rate " + rate + ", index " + index);
        }
    }

    @Test
    void theSlowestStaysWithinItsBits() {
        final Schedule schedule = new Schedule(Schedule.RATE_PER_SECOND_MIN);
        assertTrue(schedule.offsetNs(1) > 0);
        assertEquals(Plan.MESSAGES_MAX * 2_000_000_000L, schedule.offsetNs(Plan.MESSAGES_MAX));
    }
}
