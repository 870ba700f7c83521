package tickpath.ipc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tickpath.shared.ClientException;
import tickpath.shared.PlanKeys;

/** Runs from plan to samples, within this process. */
class RunTest {
    @TempDir
    Path directory;

    private JsonObject result(final Plan plan, final double graceSeconds) throws Exception {
        try (Run run = new Run(plan, directory, graceSeconds)) {
            final JsonObject result = run.go();
            run.writeSamples();
            return result;
        }
    }

    private static ByteBuffer samples(final Plan plan) throws Exception {
        final ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(plan.samples())).order(ByteOrder.LITTLE_ENDIAN);
        final byte[] magic = new byte[8];
        file.get(magic);
        assertEquals("TPIPC001", new String(magic, StandardCharsets.US_ASCII));
        assertEquals(8L * plan.messages(), file.remaining());
        return file.slice().order(ByteOrder.LITTLE_ENDIAN);
    }

    @ParameterizedTest
    @ValueSource(strings = {"aeron", "agrona", "disruptor", "chronicle"})
    void everyMessageHasASample(final String structure) throws Exception {
        final Plan plan = new Plans(structure, directory).plan();
        final long beforeNs = System.nanoTime();
        final JsonObject result = result(plan, Run.GRACE_SECONDS);
        assertTrue(result.get("complete").getAsBoolean(), result.toString());
        assertEquals(4_000, result.get("sent").getAsInt());
        assertEquals(4_000, result.get("received").getAsInt());
        for (final String none : new String[] {"lost", "duplicated", "out_of_order"}) {
            assertEquals(0, result.get(none).getAsInt(), none);
        }
        final long startNs = result.get("start_monotonic_ns").getAsLong();
        final long endNs = result.get("end_monotonic_ns").getAsLong();
        // The warm-up's 50 ms come first; the last message is due 200 ms less one gap after the
        // first.
        assertTrue(startNs - beforeNs >= 50_000_000);
        assertTrue(endNs - startNs >= 199_950_000);

        final ByteBuffer samples = samples(plan);
        final long[] latenesses = new long[plan.messages()];
        for (int index = 0; index < plan.messages(); index++) {
            final long responseNs = Integer.toUnsignedLong(samples.getInt(8 * index));
            final long serviceNs = Integer.toUnsignedLong(samples.getInt(8 * index + 4));
            assertTrue(serviceNs > 0 && serviceNs <= responseNs, index + ": " + serviceNs + ", " + responseNs);
            assertTrue(responseNs < endNs - beforeNs);
            latenesses[index] = responseNs - serviceNs;
        }
        java.util.Arrays.sort(latenesses);
        assertEquals(latenesses[3959], result.get("lateness_ns_p99").getAsLong());
    }

    @ParameterizedTest
    @ValueSource(strings = {"aeron", "agrona", "disruptor", "chronicle"})
    void aRunThatCannotSendInTimeIsStopped(final String structure) throws Exception {
        // A message a nanosecond, and no time beyond that.
        final Plan plan = new Plans(structure, directory)
                .with("rate_per_second", 1e9)
                .with("messages", 100_000)
                .plan();
        final JsonObject result = result(plan, 0);
        assertFalse(result.get("complete").getAsBoolean());
        assertTrue(result.get("failures").toString().contains("stopped: "), result.toString());
        final int sent = result.get("sent").getAsInt();
        final int received = result.get("received").getAsInt();
        assertTrue(sent < 100_000, result.toString());
        assertEquals(sent - received, result.get("lost").getAsInt());
        final ByteBuffer samples = samples(plan);
        for (int index = received; index < plan.messages(); index++) {
            assertEquals(-1L, samples.getLong(8 * index));
        }
    }

    @Test
    void aStructureThatIsFullHoldsBackAndLosesNothing() throws Exception {
        final Plan plan = new Plans("disruptor", directory)
                .with("slots", 2)
                .with("rate_per_second", 1e9)
                .plan();
        final JsonObject result = result(plan, Run.GRACE_SECONDS);
        assertTrue(result.get("complete").getAsBoolean(), result.toString());
        assertEquals(4_000, result.get("received").getAsInt());
        final int heldBack = result.get("held_back").getAsInt();
        assertTrue(heldBack > 0 && heldBack <= 4_000, result.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"aeron", "agrona", "disruptor", "chronicle"})
    void isStoppedFromOutside(final String structure) throws Exception {
        // Half an hour.
        final Plan plan = new Plans(structure, directory)
                .with("rate_per_second", 1_000.0)
                .with("messages", 1_800_000)
                .with("message_bytes", 16)
                .plan();
        try (Run run = new Run(plan, directory, Run.GRACE_SECONDS)) {
            final Thread stopping = new Thread(run::stop);
            stopping.start();
            final JsonObject result = run.go();
            stopping.join();
            assertFalse(result.get("complete").getAsBoolean());
        }
    }

    @Test
    void aQueueThatDoesNotFitTheDiskIsAnError() throws Exception {
        final Plan plan = new Plans("chronicle", directory)
                .with("message_bytes", 65_472)
                .with("messages", 40_000_000)
                .with("block_bytes", 1 << 28)
                .plan();
        final ClientException error = assertThrows(ClientException.class, () -> new Run(plan, directory, 0));
        assertTrue(error.getMessage().contains("Chronicle's queue needs "), error.getMessage());
    }

    @Test
    void samplesThatDoNotFitTheHeapAreAnError() throws Exception {
        final Plan plan = new Plans("agrona", directory).with("messages", 500_000_000).plan();
        final ClientException error = assertThrows(ClientException.class, () -> new Run(plan, directory, 0));
        assertTrue(error.getMessage().contains("raise -Xmx"), error.getMessage());
    }

    @Test
    void aCoreThatDoesNotExistIsAnError() throws Exception {
        final Plan plan = new Plans("agrona", directory)
                .with("cores", java.util.List.of(PlanKeys.CORE_MAX, PlanKeys.CORE_MAX))
                .plan();
        final ClientException error = assertThrows(ClientException.class, () -> new Run(plan, directory, 0));
        assertTrue(error.getMessage().contains("can't pin"), error.getMessage());
    }
}
