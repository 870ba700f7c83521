package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tickpath.shared.ExitStatus;

/** The shipped jar, started by its launcher. */
@Timeout(120)
class JarTest {
    private static final long END_SECONDS_MAX = 60;

    @TempDir
    Path directory;

    private StubExchange exchange;
    private Process process;
    private BufferedReader out;

    @BeforeEach
    void open() throws IOException {
        exchange = new StubExchange();
    }

    @AfterEach
    void end() throws IOException {
        exchange.close();
        if (process != null) {
            process.destroyForcibly();
        }
    }

    private void start(final String plan, final String... arguments) throws IOException {
        start(List.of("./client"), plan, arguments);
    }

    private void start(final List<String> launcher, final String plan, final String... arguments) throws IOException {
        // A shell starts background processes with SIGINT ignored, and a JVM keeps that.
        final List<String> command = new ArrayList<>(List.of("env", "--default-signal=INT"));
        command.addAll(launcher);
        command.addAll(Arrays.asList(arguments));
        process = new ProcessBuilder(command).start();
        out = process.inputReader(StandardCharsets.UTF_8);
        try (Writer in = process.outputWriter(StandardCharsets.UTF_8)) {
            in.write(plan);
        }
    }

    private Plans plans(final String model) {
        return new Plans(model, exchange.port(), directory.resolve("001.hlog"));
    }

    private JsonObject result() throws IOException {
        String last = null;
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            last = line;
        }
        assertNotNull(last, () -> errors());
        return JsonParser.parseString(last).getAsJsonObject();
    }

    private int status() throws InterruptedException {
        assertTrue(process.waitFor(END_SECONDS_MAX, TimeUnit.SECONDS), "the client does not end");
        return process.exitValue();
    }

    private String errors() {
        try {
            return new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (final IOException e) {
            return e.toString();
        }
    }

    @Test
    void runsAPlanAfterARehearsal() throws Exception {
        start(plans("ping-pong").line(), "--plan", "-");
        final JsonObject result = result();
        assertEquals("", errors());
        assertEquals(ExitStatus.COMPLETE, status());
        assertTrue(result.get("complete").getAsBoolean(), result.toString());
        assertTrue(Files.readString(directory.resolve("001.hlog")).contains("Tag=java.cycle.service,"));
    }

    /** A signal ends the run: the log is written, and the exit status is the run's. */
    @Test
    void aSignalEndsTheRunWithAResult() throws Exception {
        for (final String signal : List.of("TERM", "INT")) {
            Files.deleteIfExists(directory.resolve("001.hlog"));
            final long before = exchange.orders();
            start(plans("open").with("seconds", 1_000).line(), "--no-rehearsal", "--plan", "-");
            while (exchange.orders() < before + 1_000) {
                TimeUnit.MILLISECONDS.sleep(1);
            }
            new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid())).start().waitFor();
            final JsonObject result = result();
            assertEquals(ExitStatus.INCOMPLETE, status());
            assertFalse(result.get("complete").getAsBoolean());
            final JsonObject load = result.getAsJsonObject("load");
            assertTrue(load.get("sent").getAsLong() > 0);
            assertTrue(load.get("received").getAsLong() > 0);
            assertTrue(Files.readString(directory.resolve("001.hlog")).contains("Tag=java.order.response,"));
        }
    }

    @Test
    void aSignalBeforeTheRunEndsItToo() throws Exception {
        start(plans("open").line(), "--plan", "-");
        // The rehearsal has begun, or finds the flag set.
        TimeUnit.MILLISECONDS.sleep(1_500);
        process.toHandle().destroy();
        final int status = status();
        assertTrue(status == ExitStatus.ERROR || status == 128 + 15, "status " + status);
        assertNull(out.readLine());
    }

    /** tickpath recognises the measuring thread by its core. */
    @Test
    void onlyTheMeasuringThreadIsOnTheCore() throws Exception {
        final String allowed = allowed(Path.of("/proc/thread-self/status"));
        final String core = allowed.split("[,-]")[0];
        start(plans("open").with("seconds", 1_000).with("core", Integer.parseInt(core)).line(), "--no-rehearsal", "--plan", "-");
        while (exchange.orders() < 1_000) {
            TimeUnit.MILLISECONDS.sleep(1);
        }
        final List<String> pinned = new ArrayList<>();
        try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
            for (final Path thread : threads.toList()) {
                if (allowed(thread.resolve("status")).equals(core)) {
                    pinned.add(Files.readString(thread.resolve("comm")).strip());
                }
            }
        }
        if (!allowed.equals(core)) {
            assertEquals(List.of("trading"), pinned);
        }
        process.toHandle().destroy();
        assertEquals(ExitStatus.INCOMPLETE, status());
    }

    private static String allowed(final Path status) throws IOException {
        try (Stream<String> lines = Files.lines(status)) {
            return lines.filter(line -> line.startsWith("Cpus_allowed_list:")).findFirst().orElseThrow()
                    .substring("Cpus_allowed_list:".length()).strip();
        }
    }

    /** There is no silent fall-back: without the library of a transport nothing runs. */
    @Test
    void aTransportThatIsNotAvailableIsAnError() throws Exception {
        for (final String transport : List.of("io_uring", "epoll")) {
            final List<String> java = List.of("java", "-Dio.netty.transport.noNative=true", "-jar", "target/java-client.jar");
            start(java, plans("open").line(), "--transport", transport, "--plan", "-");
            assertEquals(ExitStatus.ERROR, status());
            final String message = errors();
            assertTrue(message.startsWith("java-client: transport " + transport + " is not available here: "), message);
            assertEquals(1, message.lines().count(), message);
            assertEquals(0, exchange.orders());
        }
    }

    @Test
    void anErrorIsOneSentence() throws Exception {
        start(plans("open").with("wire", "raw").line(), "--plan", "-");
        assertEquals(ExitStatus.ERROR, status());
        assertEquals("java-client: `wire` is \"raw\": this client speaks websocket-json and sbe\n", errors());
        start("", "--plan", "-");
        assertEquals(ExitStatus.ERROR, status());
        assertTrue(errors().contains("stdin was closed before the plan"));
        start("", "--transport", "kqueue");
        assertEquals(ExitStatus.ERROR, status());
        assertTrue(errors().contains("epoll, io_uring, nio"));
    }
}
