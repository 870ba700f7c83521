package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonObject;
import io.netty.channel.ManualIoEventLoop;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.HistogramLogReader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tickpath.shared.ClientException;

/** Whole runs in this process, against the exchange of the rehearsals. */
class RunTest {
    @TempDir
    Path directory;

    private StubExchange exchange;

    @BeforeEach
    void open() throws IOException {
        exchange = new StubExchange();
    }

    @AfterEach
    void close() throws IOException {
        exchange.close();
    }

    private Path hlog() {
        return directory.resolve("001.hlog");
    }

    private Plans plans(final String model) {
        return new Plans(model, exchange.port(), hlog());
    }

    /** On a thread of the class that the client uses. */
    private static <T> T onThread(final Callable<T> body) throws Exception {
        final FutureTask<T> task = new FutureTask<>(body);
        new FastThreadLocalThread(task, "trading").start();
        return task.get();
    }

    private static JsonObject run(final Plan plan, final Transport transport) throws Exception {
        return onThread(() -> new Run(plan, transport, new Clock(), new Stop(), null).go());
    }

    private void awaitOrders(final long orders) {
        while (exchange.orders() < orders) {
            Thread.onSpinWait();
        }
    }

    private static void assumeAvailable(final Transport transport) {
        assumeTrue(transport.unavailable() == null, () -> transport + ": " + transport.unavailable());
    }

    private Map<String, Long> counted() throws IOException {
        final Map<String, Long> counts = new TreeMap<>();
        try (HistogramLogReader log = new HistogramLogReader(hlog().toFile())) {
            for (EncodableHistogram one = log.nextIntervalHistogram(); one != null; one = log.nextIntervalHistogram()) {
                counts.merge(one.getTag(), ((AbstractHistogram) one).getTotalCount(), Long::sum);
            }
        }
        return counts;
    }

    /** The log has the wall-clock time of its start twice, and intervals relative to it. */
    private void assertTimes(final long beforeMillis) throws IOException {
        final double tookSeconds = (System.currentTimeMillis() - beforeMillis) / 1e3;
        final List<String> lines = Files.readAllLines(hlog());
        final List<Double> starts = lines.stream()
                .filter(line -> line.startsWith("#[StartTime: ") || line.startsWith("#[BaseTime: "))
                .map(line -> Double.valueOf(line.split("[: ]+")[1]))
                .toList();
        assertEquals(2, starts.size());
        assertEquals(starts.get(0), starts.get(1));
        assertEquals(beforeMillis / 1e3 + tookSeconds / 2, starts.get(0), tookSeconds / 2 + 0.001);
        for (final String line : lines) {
            if (line.startsWith("Tag=")) {
                final String[] times = line.split(",");
                final double startSeconds = Double.parseDouble(times[1]);
                final double lengthSeconds = Double.parseDouble(times[2]);
                // The warm-up comes first.
                assertTrue(startSeconds > 0 && lengthSeconds > 0, line);
                assertTrue(startSeconds + lengthSeconds < tookSeconds + 0.002, line);
            }
        }
    }

    /** Each message has the number that follows, and its own instrument's; the stub checks both. */
    @ParameterizedTest
    @EnumSource(Transport.class)
    void ordersInSbeAreCompleteOnEachTransport(final Transport transport) throws Exception {
        assumeAvailable(transport);
        for (final String model : List.of("open", "ping-pong")) {
            final JsonObject result = run(plans(model).with("wire", "sbe").withLoad("connections", 4).plan(), transport);
            assertTrue(result.get("complete").getAsBoolean(), result.toString());
            assertEquals(0, result.getAsJsonArray("failures").size(), result.toString());
            final JsonObject load = result.getAsJsonObject("load");
            assertTrue(load.get("sent").getAsLong() > 0, result.toString());
            assertEquals(load.get("sent"), load.get("received"), result.toString());
            final JsonObject bytes = load.getAsJsonObject("message_bytes");
            assertEquals(150, bytes.get("order").getAsLong());
            assertEquals(87, bytes.get("cancel").getAsLong());
            assertEquals(130, bytes.get("order_reply").getAsLong());
        }
        assertEquals(exchange.orders(), exchange.cancels());
    }

    @Test
    void anUnknownInstrumentIsNamedInSbe() throws Exception {
        final Plan plan = plans("open").with("wire", "sbe").withLoad("connections", 4).withLoad("instrument", "ETH").plan();
        final Exception wrong = assertThrows(Exception.class, () -> run(plan, Transport.NIO));
        assertTrue(ErrorText.of(wrong).contains("no instrument ETH; it has OTHER, BTC_USDT"), ErrorText.of(wrong));
    }

    /** The log has every latency of the measured part once, over several intervals. */
    @ParameterizedTest
    @EnumSource(Transport.class)
    void openLoopIsCompleteOnEachTransport(final Transport transport) throws Exception {
        assumeAvailable(transport);
        final long beforeMillis = System.currentTimeMillis();
        final JsonObject result = run(plans("open").with("seconds", 2.2).withLoad("cancel_after", 3).plan(), transport);
        assertTrue(result.get("complete").getAsBoolean(), result.toString());
        assertTimes(beforeMillis);
        final JsonObject load = result.getAsJsonObject("load");
        // 2.2 s of 2000 a second, in blocks of six.
        assertEquals(4_404, load.get("sent").getAsLong());
        assertEquals(4_404, load.get("received").getAsLong());
        assertEquals(402, load.get("warm_up_sent").getAsLong());
        assertEquals(0, load.get("lost").getAsLong());
        assertEquals(transport.option(), load.getAsJsonArray("runtime").get(0).getAsJsonObject().get("transport").getAsString());
        assertEquals(
                Map.of("java.order.response", 2_202L, "java.order.service", 2_202L, "java.cancel.response", 2_202L,
                        "java.cancel.service", 2_202L, "java.send.lateness", 4_404L),
                counted());
        assertEquals(Vectors.tags("open", "java"), counted().keySet());
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void pingPongIsCompleteOnEachTransport(final Transport transport) throws Exception {
        assumeAvailable(transport);
        for (final String backend : List.of("spin", "block")) {
            Files.deleteIfExists(hlog());
            final JsonObject result = run(plans("ping-pong").with("backend", backend).plan(), transport);
            assertTrue(result.get("complete").getAsBoolean(), result.toString());
            final JsonObject load = result.getAsJsonObject("load");
            assertEquals(load.get("sent"), load.get("received"), result.toString());
            final Map<String, Long> counts = counted();
            assertEquals(
                    load.get("received").getAsLong(), counts.get("java.order.service") + counts.get("java.cancel.service"));
            assertEquals(counts.get("java.cancel.service"), counts.get("java.cycle.service"));
            assertEquals(Vectors.tags("ping-pong", "java"), counts.keySet());
        }
    }

    /** Whether this process has such a descriptor, by the kernel. */
    private static boolean holds(final String kind) {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.anyMatch(one -> {
                try {
                    return Files.readSymbolicLink(one).toString().equals("anon_inode:" + kind);
                } catch (final IOException e) {
                    return false;
                }
            });
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void theTransportThatWasAskedForRuns() throws Exception {
        assumeAvailable(Transport.IO_URING);
        assertTrue(!holds("[io_uring]"), "something else uses io_uring");
        onThread(() -> {
            final Transport transport = Transport.IO_URING;
            final ManualIoEventLoop loop = new ManualIoEventLoop(Thread.currentThread(), transport.handlers());
            final Plan plan = plans("ping-pong").plan();
            final LogOn logOn = new LogOn(loop, transport, plan, Dialect.of(plan, 1), new Clock(), new Stop());
            for (final Lane lane : logOn.lanes()) {
                assertEquals("IoUringSocketChannel", lane.channel.getClass().getSimpleName());
            }
            assertTrue(holds("[io_uring]"), "no ring");
            loop.shutdownGracefully(0, 1, java.util.concurrent.TimeUnit.SECONDS);
            while (!loop.isTerminated()) {
                loop.runNow();
            }
            return null;
        });
        assertTrue(!holds("[io_uring]"), "the ring is still there");
    }

    /** If the exchange ends in mid-run, the run is void, and the log has the latencies so far. */
    @ParameterizedTest
    @EnumSource(Transport.class)
    void aConnectionThatEndsMakesTheRunIncomplete(final Transport transport) throws Exception {
        assumeAvailable(transport);
        final Thread killer = new Thread(() -> {
            awaitOrders(1_000);
            try {
                exchange.close();
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        killer.start();
        final JsonObject result = run(plans("open").with("seconds", 20).plan(), transport);
        killer.join();
        assertTrue(!result.get("complete").getAsBoolean());
        assertTrue(result.get("failures").toString().contains("ended in mid-run"), result.toString());
        assertNotEquals(0, counted().get("java.order.service"));
    }

    @Test
    void aStoppedRunCancelsItsRestingOrders() throws Exception {
        final Stop stop = new Stop();
        // The warm-up has a thousand orders.
        final Thread stopper = new Thread(() -> {
            awaitOrders(1_200);
            stop.set();
        });
        stopper.start();
        final Plan plan = plans("open").with("seconds", 60).withLoad("cancel_after", 1000).plan();
        final JsonObject result = onThread(() -> new Run(plan, Transport.EPOLL, new Clock(), stop, null).go());
        stopper.join();
        final JsonObject load = result.getAsJsonObject("load");
        assertTrue(!result.get("complete").getAsBoolean());
        final long sent = load.get("sent").getAsLong() + load.get("warm_up_sent").getAsLong();
        assertNotEquals(0, load.get("sent").getAsLong());
        // On a busy machine the exchange may read the last messages after the client has ended.
        while (exchange.orders() + exchange.cancels() < sent) {
            Thread.sleep(1);
        }
        assertEquals(exchange.orders(), exchange.cancels());
    }

    @Test
    void anErrorWithoutAnExchangeNamesTheTarget() throws Exception {
        final Plan plan = plans("open").plan();
        exchange.close();
        final Throwable error =
                assertThrows(java.util.concurrent.ExecutionException.class, () -> run(plan, Transport.EPOLL)).getCause();
        assertTrue(error instanceof ClientException, error.toString());
        // All connections are opened at once, and the first answer may be to any of them.
        final String named = "connection \\d+ to 127\\.0\\.0\\.1:" + plan.port() + ": .*";
        assertTrue(error.getMessage().matches(named), error.getMessage());
        assertTrue(error.getMessage().contains("is an exchange running there?"), error.getMessage());
        assertTrue(Files.notExists(hlog()) || Files.size(hlog()) == 0);
    }

    @Test
    void epollIsAlwaysThereOnLinux() {
        assertNull(Transport.EPOLL.unavailable());
        assertThrows(ClientException.class, () -> Transport.parse("kqueue"));
    }
}
