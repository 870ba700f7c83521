package tickpath.ipc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tickpath.shared.ExitStatus;

/** The shipped jar, started as a launcher starts it. */
class JarTest {
    private static final long END_SECONDS_MAX = 30;

    @TempDir
    Path directory;

    @TempDir
    Path results;

    private Process process;
    private BufferedReader out;
    private Writer in;

    private void start(final String... arguments) throws IOException {
        final List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "@" + Path.of("java.args").toAbsolutePath(),
                "-jar",
                jar().toString()));
        command.addAll(Arrays.asList(arguments));
        process = new ProcessBuilder(command).start();
        out = process.inputReader(StandardCharsets.UTF_8);
        in = process.outputWriter(StandardCharsets.UTF_8);
    }

    private void write(final String line) throws IOException {
        in.write(line + "\n");
        in.flush();
    }

    private static Path jar() {
        return Path.of("target/java-ipc.jar").toAbsolutePath();
    }

    private Plans plans(final String structure) {
        return new Plans(structure, directory).with("samples", results.resolve("a.samples").toString());
    }

    private int status() throws InterruptedException {
        assertTrue(process.waitFor(END_SECONDS_MAX, TimeUnit.SECONDS), "the peer does not end");
        return process.exitValue();
    }

    private String errors() throws IOException {
        return new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    private void assertNothingIsLeft() throws IOException {
        try (Stream<Path> left = Files.list(directory)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @AfterEach
    void end() {
        if (process != null) {
            process.destroyForcibly();
        }
    }

    @Test
    void theJarHasNoClassesThatSendUsageData() throws IOException {
        try (JarFile jar = new JarFile(jar().toFile())) {
            assertNotNull(jar.getEntry("net/openhft/chronicle/queue/ChronicleQueue.class"));
            assertEquals(0, jar.stream().filter(entry -> entry.getName().startsWith("net/openhft/chronicle/analytics/")).count());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"aeron", "agrona", "disruptor", "chronicle"})
    void runsAPlan(final String structure) throws Exception {
        start("--plan", "-");
        write(plans(structure).line());
        assertEquals(2, ids(out.readLine()).size());
        write("go");
        final JsonObject result = JsonParser.parseString(out.readLine()).getAsJsonObject();
        assertNull(out.readLine());
        assertEquals(ExitStatus.COMPLETE, status());
        assertEquals("", errors());
        assertTrue(result.get("complete").getAsBoolean(), result.toString());
        assertEquals(4_000, result.get("received").getAsInt());
        assertEquals(8 + 8 * 4_000, Files.size(results.resolve("a.samples")));
        assertNothingIsLeft();
    }

    private static JsonArray ids(final String line) {
        return JsonParser.parseString(line).getAsJsonObject().getAsJsonArray("threads");
    }

    @Test
    void bothThreadsAreWhereThePlanPutsThem() throws Exception {
        final String allowed = allowed(Path.of("/proc/thread-self/status"));
        final String core = allowed.split("[,-]")[0];
        start("--plan", "-");
        write(plans("agrona").with("cores", Arrays.asList(Integer.parseInt(core), null)).line());
        final JsonArray ids = ids(out.readLine());
        final Path threads = Path.of("/proc", Long.toString(process.pid()), "task");
        final Path consumer = threads.resolve(ids.get(1).getAsString());
        assertEquals("producer", Files.readString(threads.resolve(ids.get(0).getAsString()).resolve("comm")).strip());
        assertEquals("consumer", Files.readString(consumer.resolve("comm")).strip());
        assertEquals(core, allowed(threads.resolve(ids.get(0).getAsString()).resolve("status")));
        if (!allowed.equals(core)) {
            // No other thread is there: neither the consumer nor the compilers.
            try (Stream<Path> all = Files.list(threads)) {
                final List<Path> pinned = new ArrayList<>();
                for (final Path thread : all.toList()) {
                    if (allowed(thread.resolve("status")).equals(core)) {
                        pinned.add(thread);
                    }
                }
                assertEquals(List.of(threads.resolve(ids.get(0).getAsString())), pinned);
            }
        }
        in.close();
        assertEquals(ExitStatus.INCOMPLETE, status());
    }

    private static String allowed(final Path status) throws IOException {
        try (Stream<String> lines = Files.lines(status)) {
            return lines.filter(line -> line.startsWith("Cpus_allowed_list:")).findFirst().orElseThrow()
                    .substring("Cpus_allowed_list:".length()).strip();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"aeron", "chronicle"})
    void aStdinThatIsClosedBeforeGoStopsTheRun(final String structure) throws Exception {
        start("--plan", "-");
        write(plans(structure).line());
        out.readLine();
        in.close();
        final JsonObject result = JsonParser.parseString(out.readLine()).getAsJsonObject();
        assertFalse(result.get("complete").getAsBoolean());
        assertTrue(result.get("failures").toString().contains("stopped: stdin ended"), result.toString());
        assertEquals(ExitStatus.INCOMPLETE, status());
        assertNothingIsLeft();
    }

    /**
     * The exit status is the signal's, not the run's (3), which came first on a busy machine once.
     */
    @ParameterizedTest
    @ValueSource(strings = {"aeron", "disruptor", "chronicle"})
    void endsOnASignal(final String structure) throws Exception {
        start("--plan", "-");
        // Half an hour.
        write(plans(structure).with("rate_per_second", 1_000).with("messages", 1_800_000).with("message_bytes", 16).line());
        out.readLine();
        write("go");
        TimeUnit.MILLISECONDS.sleep(100);
        process.toHandle().destroy();
        assertEquals(128 + 15, status());
        assertNothingIsLeft();
    }

    @Test
    void endsOnASignalBeforeGo() throws Exception {
        start("--plan", "-");
        write(plans("chronicle").line());
        out.readLine();
        process.toHandle().destroy();
        assertEquals(128 + 15, status());
        assertNothingIsLeft();
    }

    @Test
    void anErrorInAPlanIsOneSentence() throws Exception {
        start("--plan", "-");
        write(plans("agrona").with("slots", 1000).line());
        assertEquals(ExitStatus.ERROR, status());
        assertEquals("java-ipc: `slots` is 1000, and must be a power of two\n", errors());
        assertNull(out.readLine());
    }

    @Test
    void aCallWithoutAPlanIsAnError() throws Exception {
        start();
        assertEquals(ExitStatus.ERROR, status());
        assertTrue(errors().contains("--plan -"));
    }

    @Test
    void anEmptyStdinIsAnError() throws Exception {
        start("--plan", "-");
        in.close();
        assertEquals(ExitStatus.ERROR, status());
        assertTrue(errors().contains("stdin was closed before the plan"));
    }
}
