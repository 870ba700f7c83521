package tickpath.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** Near the largest number, where {@link System#nanoTime} may be. */
class PlantedDistanceTest {
    private static final long NOW = Long.MAX_VALUE - 100;
    private static final int REPLIES = 1_000;

    private static ByteBuffer reply(final int number) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(0, number);
    }

    @Test
    void aReplyArrivesAfterTheDelay() {
        final PlantedDistance far = new PlantedDistance(500_000, 0);
        far.send(reply(7), NOW);
        assertNull(far.arrived(NOW + 499_999));
        assertFalse(far.isNear(NOW + 100_000));
        assertTrue(far.isNear(NOW + 400_000));
        assertEquals(7, far.arrived(NOW + 500_000).getInt(0));
        assertTrue(far.isEmpty());

        final PlantedDistance none = new PlantedDistance(0, 0);
        none.send(reply(7), NOW);
        assertNotNull(none.arrived(NOW));
    }

    @Test
    void jitterStaysWithinItsLimitsAndKeepsTheOrder() {
        final PlantedDistance far = new PlantedDistance(500, 1_000);
        for (int number = 0; number < REPLIES; number++) {
            far.send(reply(number), NOW);
        }
        assertNull(far.arrived(NOW + 499));
        int early = 0;
        ByteBuffer arrived;
        while ((arrived = far.arrived(NOW + 1_400)) != null) {
            assertEquals(early++, arrived.getInt(0));
        }
        assertTrue(early < REPLIES, "some are later than that");
        for (int number = early; number < REPLIES; number++) {
            assertEquals(number, far.arrived(NOW + 1_499).getInt(0));
        }
    }
}
