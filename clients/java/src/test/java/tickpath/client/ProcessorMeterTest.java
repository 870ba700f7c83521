package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class ProcessorMeterTest {
    private static final long BUSY_NS = 100_000_000;

    /** Threads that ended count, and a process that only waits uses almost nothing. */
    @Test
    void allThreadsOfAProcessCountAndSleepDoesNot() throws IOException, InterruptedException {
        final Process sleeping = new ProcessBuilder("sleep", "60").start();
        try (ProcessorMeter meter = new ProcessorMeter(OptionalLong.of(sleeping.pid()))) {
            meter.begin();
            final Thread busy = new Thread(ProcessorMeterTest::spin);
            busy.start();
            busy.join();
            meter.end();
            final JsonObject used = meter.json(true);
            // The kernel counts in steps.
            assertTrue(used.get("client_ns").getAsLong() >= BUSY_NS - 20_000_000, used.toString());
            assertTrue(used.get("exchange_ns").getAsLong() <= 20_000_000, used.toString());
            assertEquals("[\"client\"]", used.get("spinning").toString());
        } finally {
            sleeping.destroyForcibly().waitFor();
        }
        try (ProcessorMeter ended = new ProcessorMeter(OptionalLong.of(sleeping.pid()))) {
            ended.begin();
            ended.end();
            assertTrue(ended.json(false).get("exchange_ns").isJsonNull());
        }
    }

    /** Until this thread has used this much, so the machine's other load does no harm. */
    private static void spin() {
        final var threads = ManagementFactory.getThreadMXBean();
        while (threads.getCurrentThreadCpuTime() < BUSY_NS) {
            Thread.onSpinWait();
        }
    }

    @Test
    void withoutAnExchangeThereIsNoFigureOfIt() throws IOException {
        try (ProcessorMeter alone = new ProcessorMeter(OptionalLong.empty())) {
            alone.begin();
            alone.end();
            assertTrue(alone.json(false).get("exchange_ns").isJsonNull());
            assertEquals("[]", alone.json(false).get("spinning").toString());
        }
    }
}
