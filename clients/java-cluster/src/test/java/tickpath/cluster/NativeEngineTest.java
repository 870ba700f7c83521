package tickpath.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tickpath.shared.ClientException;
import tickpath.shared.PlanKeys;

/** The engine through JNA against the commands, events and state hashes that Rust wrote. */
class NativeEngineTest {
    private static final Path VECTORS = Path.of("../vectors/engine.jsonl");

    private static final List<JsonObject> COMMANDS = new ArrayList<>();
    private static EngineShape shape;

    @BeforeAll
    static void read() throws IOException, ClientException {
        Library.load();
        final List<String> lines = Files.readAllLines(VECTORS);
        shape = EngineShape.of(PlanKeys.of(lines.get(0)));
        COMMANDS.clear();
        lines.subList(1, lines.size()).forEach(line -> COMMANDS.add(JsonParser.parseString(line).getAsJsonObject()));
        assertTrue(COMMANDS.size() > 100, "the file is not that of the crate engine-abi");
    }

    private static UnsafeBuffer record(final JsonObject command) {
        return new UnsafeBuffer(HexFormat.of().parseHex(command.get("record").getAsString()));
    }

    private static void apply(final NativeEngine engine, final int number) {
        final JsonObject command = COMMANDS.get(number);
        final JsonArray expected = command.getAsJsonArray("events");
        final long events = engine.apply(record(command), 0, command.get("time_ns").getAsLong());
        assertEquals(expected.size(), events, "command " + number);
        final byte[] event = new byte[NativeEngine.RECORD_BYTES];
        for (int index = 0; index < events; index++) {
            engine.output().getBytes(index * event.length, event);
            assertEquals(expected.get(index).getAsString(), HexFormat.of().formatHex(event), "command " + number);
        }
        assertEquals(number + 1, engine.sequence());
        assertEquals(
                command.get("state_hash").getAsString(), String.format("%016x", engine.stateHash()), "command " + number);
    }

    @Test
    void commandsGiveTheEventsAndTheStateThatTheyGiveInRust() throws ClientException {
        try (NativeEngine engine = NativeEngine.create(shape)) {
            for (int number = 0; number < COMMANDS.size(); number++) {
                apply(engine, number);
            }
        }
    }

    @Test
    void aRestoredEngineContinuesWhereItWasSaved() throws ClientException {
        for (int cut = 0; cut < COMMANDS.size(); cut += 40) {
            final UnsafeBuffer saved;
            try (NativeEngine engine = NativeEngine.create(shape)) {
                for (int number = 0; number < cut; number++) {
                    apply(engine, number);
                }
                engine.save();
                saved = new UnsafeBuffer(ByteBuffer.allocateDirect(engine.output().capacity()));
                saved.putBytes(0, engine.output(), 0, saved.capacity());
            }
            try (NativeEngine engine = NativeEngine.restore(saved, saved.capacity())) {
                for (int number = cut; number < COMMANDS.size(); number++) {
                    apply(engine, number);
                }
            }
            saved.putByte(saved.capacity() - 1, (byte) (saved.getByte(saved.capacity() - 1) ^ 1));
            assertThrows(ClientException.class, () -> NativeEngine.restore(saved, saved.capacity()));
        }
    }

    @Test
    void aRecordThatCannotBeReadChangesNothing() throws ClientException {
        try (NativeEngine engine = NativeEngine.create(shape)) {
            apply(engine, 0);
            final long before = engine.stateHash();
            final byte[] bad = new byte[NativeEngine.RECORD_BYTES];
            bad[8] = 99;
            assertTrue(engine.apply(new UnsafeBuffer(bad), 0, 1) < 0);
            assertTrue(engine.error().contains("byte 8 (kind) is 99"), engine.error());
            assertEquals(before, engine.stateHash());
            apply(engine, 1);
        }
    }

    @Test
    void wrongLimitsAndLibrariesAreNamed(@TempDir final Path directory) {
        final EngineShape none = new EngineShape(1, 0, 1, 0, 0, 0);
        final ClientException limits = assertThrows(ClientException.class, () -> NativeEngine.create(none));
        assertTrue(limits.getMessage().contains("open_orders_max"), limits.getMessage());
        final Path absent = directory.resolve("absent.so");
        final ClientException library = assertThrows(ClientException.class, () -> NativeEngine.load(absent));
        assertTrue(library.getMessage().contains("make cluster"), library.getMessage());
    }

    @Test
    void theShapeIsChecked() {
        final String line = "{\"instruments\":2,\"open_orders_max\":9,\"price_levels_max\":9,\"stop_levels_max\":0,"
                + "\"expiring_orders_max\":0,\"accounts_max\":3000000}";
        final ClientException error =
                assertThrows(ClientException.class, () -> EngineShape.of(PlanKeys.of(line)));
        assertTrue(error.getMessage().contains("at most 2097152"), error.getMessage());
        assertArrayEquals(new int[] {2, 4}, new int[] {shape.instruments(), shape.accountsMax()});
    }
}
