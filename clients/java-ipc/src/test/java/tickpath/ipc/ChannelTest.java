package tickpath.ipc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each peer by itself: every byte arrives, a full structure rejects, nothing is allocated. */
class ChannelTest {
    private static final int TEST_SECONDS_MAX = 60;

    @TempDir
    Path directory;

    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void end() {
        threads.shutdownNow();
    }

    private static Consumer consumer(final Plan plan) {
        return new Consumer(plan, new Schedule(plan.ratePerSecond()), new Samples(plan.messagesInAll()));
    }

    /** Fills a message with words that its first word determines. */
    private static void fill(final UnsafeBuffer message, final long index) {
        message.putLong(Consumer.INDEX_OFFSET, index);
        final Random random = new Random(index);
        for (int offset = Long.BYTES; offset < message.capacity(); offset += Long.BYTES) {
            message.putLong(offset, random.nextLong());
        }
    }

    private static void sendAll(final Channel channel, final Plan plan) {
        final UnsafeBuffer message = Memory.allocate(plan.messageBytes());
        for (int index = 0; index < plan.messagesInAll(); index++) {
            fill(message, index);
            while (!channel.send(message)) {
                Thread.onSpinWait();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "aeron, 256, 1024, true", "aeron, 256, 1024, false", "aeron, 65472, 4, true", "aeron, 16, 2, false",
        "agrona, 256, 1024, false", "agrona, 65472, 2, false", "agrona, 16, 2, false",
        "disruptor, 256, 1024, false", "disruptor, 65472, 2, false", "disruptor, 24, 2, false",
        "chronicle, 256, 1024, false", "chronicle, 65472, 2, false", "chronicle, 16, 2, false",
    })
    void everyByteArrivesInOrder(final String structure, final int bytes, final int slots, final boolean spareCore)
            throws Exception {
        final Plan plan = new Plans(structure, directory)
                .with("message_bytes", bytes)
                .with("slots", slots)
                .with("messages", bytes > 1_000 ? 200 : 20_000)
                .with("warm_up_messages", 100)
                .plan();
        final UnsafeBuffer expected = Memory.allocate(bytes);
        final int[] wrong = {0};
        final Consumer checking = new Consumer(plan, new Schedule(plan.ratePerSecond()), new Samples(plan.messagesInAll())) {
            private long next;

            @Override
            void accept(final DirectBuffer buffer, final int offset) {
                fill(expected, next++);
                for (int at = 0; at < expected.capacity(); at++) {
                    wrong[0] += buffer.getByte(offset + at) == expected.getByte(at) ? 0 : 1;
                }
                super.accept(buffer, offset);
            }
        };
        try (Channel channel = Channel.open(plan, checking, directory, spareCore)) {
            final Future<?> receiving = threads.submit(channel::receive);
            final Future<?> sending = threads.submit(() -> sendAll(channel, plan));
            sending.get(TEST_SECONDS_MAX, TimeUnit.SECONDS);
            receiving.get(TEST_SECONDS_MAX, TimeUnit.SECONDS);
        }
        assertEquals(0, wrong[0]);
        assertTrue(checking.hasSeenLast());
    }

    @ParameterizedTest
    @CsvSource({"aeron, true", "aeron, false", "agrona, false", "disruptor, false"})
    void isFullAfterAllSlotsAndTakesMoreWhenItWasRead(final String structure, final boolean spareCore) throws Exception {
        final int slots = 64;
        final Plan plan = new Plans(structure, directory)
                .with("slots", slots)
                .with("warm_up_messages", 0)
                .with("messages", 10_000_000)
                .plan();
        final Consumer consumer = consumer(plan);
        final UnsafeBuffer message = Memory.allocate(plan.messageBytes());
        try (Channel channel = Channel.open(plan, consumer, directory, spareCore)) {
            int sent = 0;
            for (boolean full = false; !full; sent += full ? 0 : 1) {
                message.putLong(Consumer.INDEX_OFFSET, sent);
                full = !channel.send(message);
            }
            assertTrue(sent >= slots, sent + " sent");
            assertFalse(channel.send(message));
            final Future<?> receiving = threads.submit(channel::receive);
            final AtomicBoolean gaveUp = new AtomicBoolean();
            final Future<Boolean> sending = threads.submit(() -> {
                boolean taken = channel.send(message);
                while (!taken && !gaveUp.get()) {
                    taken = channel.send(message);
                }
                return taken;
            });
            try {
                assertTrue(sending.get(TEST_SECONDS_MAX, TimeUnit.SECONDS));
            } finally {
                gaveUp.set(true);
                consumer.stop();
                channel.interrupt();
                receiving.get(TEST_SECONDS_MAX, TimeUnit.SECONDS);
            }
        }
    }

    /**
     * No message waits for a structure to wrap, rotate or roll: there is always space for one in
     * flight.
     */
    @ParameterizedTest
    @CsvSource({"aeron", "agrona", "disruptor", "chronicle"})
    void oneMessageInFlightIsNeverHeldBack(final String structure) throws Exception {
        final Plan plan = new Plans(structure, directory)
                .with("slots", 64)
                .with("block_bytes", 1 << 16)
                .plan();
        final AtomicInteger received = new AtomicInteger();
        final Consumer counting = new Consumer(plan, new Schedule(plan.ratePerSecond()), new Samples(plan.messagesInAll())) {
            @Override
            void accept(final DirectBuffer buffer, final int offset) {
                super.accept(buffer, offset);
                received.incrementAndGet();
            }
        };
        final UnsafeBuffer message = Memory.allocate(plan.messageBytes());
        try (Channel channel = Channel.open(plan, counting, directory, false)) {
            final Future<?> receiving = threads.submit(channel::receive);
            int sent = 0;
            try {
                while (sent < plan.messagesInAll()) {
                    message.putLong(Consumer.INDEX_OFFSET, sent);
                    assertTrue(channel.send(message), "message " + sent + " is held back");
                    sent++;
                    while (received.get() < sent && !receiving.isDone()) {
                        Thread.onSpinWait();
                    }
                }
            } finally {
                counting.stop();
                channel.interrupt();
                receiving.get(TEST_SECONDS_MAX, TimeUnit.SECONDS);
            }
        }
        assertEquals(plan.messagesInAll(), received.get());
    }

    @ParameterizedTest
    @CsvSource({"aeron, true", "aeron, false", "agrona, false", "disruptor, false", "chronicle, false"})
    void neitherThreadAllocates(final String structure, final boolean spareCore) throws Exception {
        final Plan plan = new Plans(structure, directory)
                .with("rate_per_second", 100_000.0)
                .with("messages", 100_000)
                .plan();
        final Consumer consumer = consumer(plan);
        try (Channel channel = Channel.open(plan, consumer, directory, spareCore)) {
            final Producer producer = new Producer(plan, new Schedule(plan.ratePerSecond()), channel);
            final long startNs = System.nanoTime();
            consumer.startAt(startNs);
            producer.startAt(startNs, startNs + TimeUnit.SECONDS.toNanos(TEST_SECONDS_MAX));
            final Future<Long> receiving = threads.submit(() -> allocatedBy(channel::receive));
            final Future<Long> sending = threads.submit(() -> allocatedBy(producer::run));
            // The first messages allocate: lambdas are linked, thread locals made. One word a
            // message would be 800 000 bytes.
            final long limitBytes = 100_000;
            final long sendingBytes = sending.get(TEST_SECONDS_MAX, TimeUnit.SECONDS);
            final long receivingBytes = receiving.get(TEST_SECONDS_MAX, TimeUnit.SECONDS);
            assertTrue(sendingBytes < limitBytes, "sending allocated " + sendingBytes);
            assertTrue(receivingBytes < limitBytes, "receiving allocated " + receivingBytes);
        }
        assertTrue(consumer.hasSeenLast());
    }

    private static long allocatedBy(final Runnable body) {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final long before = threads.getCurrentThreadAllocatedBytes();
        body.run();
        return threads.getCurrentThreadAllocatedBytes() - before;
    }
}
