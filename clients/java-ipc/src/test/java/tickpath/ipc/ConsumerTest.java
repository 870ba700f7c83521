package tickpath.ipc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tickpath.shared.ClientException;

/** The first three of ten messages are the warm-up. */
class ConsumerTest {
    @TempDir
    Path directory;

    private final Samples samples = new Samples(10);
    private Consumer consumer;

    @BeforeEach
    void begin() throws ClientException {
        final Plan plan = new Plans("agrona", directory)
                .with("warm_up_messages", 3)
                .with("messages", 7)
                .plan();
        consumer = new Consumer(plan, new Schedule(plan.ratePerSecond()), samples);
        consumer.startAt(System.nanoTime() - 1_000_000_000);
    }

    private void receive(final long... indices) {
        final UnsafeBuffer message = new UnsafeBuffer(new byte[8 + 256]);
        for (final long index : indices) {
            message.putLong(8 + Consumer.INDEX_OFFSET, index);
            message.putLong(8 + Consumer.SENT_OFFSET, System.nanoTime());
            consumer.accept(message, 8);
        }
    }

    @Test
    void allInOrder() {
        receive(0, 1, 2, 3, 4, 5, 6, 7, 8);
        assertFalse(consumer.isOver());
        receive(9);
        assertTrue(consumer.isOver());
        assertEquals(7, samples.received(3));
        assertEquals(0, consumer.duplicated() + consumer.outOfOrder() + consumer.unknown());
    }

    @Test
    void aMissingMessageHasNoSample() {
        receive(0, 1, 2, 3, 5, 9);
        assertTrue(consumer.isOver());
        assertEquals(3, samples.received(3));
        assertFalse(samples.has(4));
        assertEquals(0, consumer.duplicated() + consumer.outOfOrder());
    }

    @Test
    void anOvertakenMessageIsCountedAndHasASample() {
        receive(0, 1, 2, 4, 5, 3, 6);
        assertEquals(1, consumer.outOfOrder());
        assertTrue(samples.has(3));
        assertEquals(4, samples.received(3));
        assertEquals(0, consumer.duplicated());
    }

    @Test
    void aDuplicateIsCountedAndHasNoSample() {
        receive(0, 1, 2, 3, 4, 4, 3, 5);
        assertEquals(2, consumer.duplicated());
        assertEquals(0, consumer.outOfOrder());
        assertEquals(3, samples.received(3));
    }

    @Test
    void theWarmUpIsNotCounted() {
        receive(0, 2, 1, 2, 3);
        assertEquals(0, consumer.duplicated() + consumer.outOfOrder());
    }

    @Test
    void indicesThatWereNeverSentAreCounted() {
        receive(0, 10, -1, Long.MAX_VALUE, 1);
        assertEquals(3, consumer.unknown());
        assertEquals(2, samples.received(0));
    }

    @Test
    void isOverWhenStopped() {
        receive(0);
        consumer.stop();
        assertTrue(consumer.isOver());
        assertFalse(consumer.hasSeenLast());
    }
}
