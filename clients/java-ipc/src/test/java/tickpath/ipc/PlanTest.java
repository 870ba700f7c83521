package tickpath.ipc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tickpath.shared.ClientException;
import tickpath.shared.Scheduling;

class PlanTest {
    @TempDir
    Path directory;

    @Test
    void isRead() throws ClientException {
        final Plan plan = new Plans("disruptor", directory)
                .with("cores", Arrays.asList(3, null))
                .with("scheduling", "fifo:10")
                .with("unknown", List.of("ignored"))
                .plan();
        assertEquals(Plan.Structure.DISRUPTOR, plan.structure());
        assertEquals(256, plan.messageBytes());
        assertEquals(1024, plan.slots());
        assertEquals(20_000.0, plan.ratePerSecond());
        assertEquals(5_000, plan.messagesInAll());
        assertEquals(List.of(OptionalInt.of(3), OptionalInt.empty()), plan.cores());
        assertEquals(new Scheduling("--fifo", 10), plan.scheduling());
        assertEquals(directory.resolve("a.samples"), plan.samples());
    }

    @Test
    void aStructureNeedsOnlyItsOwnKeys() throws ClientException {
        assertEquals(1 << 20, new Plans("chronicle", directory).without("slots").plan().blockBytes());
        assertEquals(1024, new Plans("aeron", directory).without("block_bytes").plan().slots());
    }

    static Stream<Arguments> rejected() {
        return Stream.of(
                Arguments.of("structure", "kafka", "aeron, agrona, disruptor, chronicle"),
                Arguments.of("structure", 7, "must be a string"),
                Arguments.of("message_bytes", 8, "from 16 to 65472"),
                Arguments.of("message_bytes", 250, "multiple of 8"),
                Arguments.of("message_bytes", 256.5, "whole number"),
                Arguments.of("message_bytes", "256", "whole number"),
                Arguments.of("slots", 1000, "power of two"),
                Arguments.of("slots", 1 << 21, "from 2 to 1048576"),
                Arguments.of("keys", 12, "don't conflate"),
                Arguments.of("rate_per_second", 0, "must be a number from 0.5"),
                Arguments.of("rate_per_second", 2e9, "must be a number from 0.5"),
                Arguments.of("messages", 0, "from 1 to"),
                Arguments.of("warm_up_messages", Plan.MESSAGES_MAX, "together"),
                Arguments.of("cores", List.of(1), "[PRODUCER, CONSUMER]"),
                Arguments.of("cores", List.of(-1, 1), "whole number"),
                Arguments.of("cores", 1, "[PRODUCER, CONSUMER]"),
                Arguments.of("scheduling", "fifo", "fifo:PRIORITY"),
                Arguments.of("scheduling", "rr:100", "from 1 to 99"),
                Arguments.of("directory", "/nowhere/at/all", "no such directory"),
                Arguments.of("samples", "/nowhere/at/all.samples", "does not exist"));
    }

    @ParameterizedTest
    @MethodSource("rejected")
    void aRejectionNamesTheKey(final String key, final Object value, final String why) {
        final ClientException error = assertThrows(
                ClientException.class, () -> new Plans("agrona", directory).with(key, value).plan());
        assertTrue(error.getMessage().contains("`" + key + "`"), error.getMessage());
        assertTrue(error.getMessage().contains(why), error.getMessage());
    }

    @Test
    void structuresThatAreTooLargeAreRejected() {
        assertThrows(ClientException.class, () -> new Plans("agrona", directory)
                .with("message_bytes", 65_472)
                .with("slots", 1 << 20)
                .plan());
        assertThrows(
                ClientException.class,
                () -> new Plans("chronicle", directory).with("block_bytes", 100_000).plan());
    }

    @ParameterizedTest
    @ValueSource(strings = {"structure", "message_bytes", "slots", "keys", "rate_per_second", "messages", "cores", "samples"})
    void aMissingKeyIsNamed(final String key) {
        final ClientException error = assertThrows(
                ClientException.class, () -> new Plans("agrona", directory).without(key).plan());
        assertEquals("the plan has no `" + key + "`", error.getMessage());
    }
}
