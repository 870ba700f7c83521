package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonObject;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The measuring thread makes no garbage in steady state. Over io_uring, Netty's handler allocates
 * for a turn of its loop (a callback, if it is not inlined).
 */
class AllocationTest {
    @TempDir
    Path directory;

    /** Limit per run, for example for compiled code that was discarded. */
    private static final long BYTES_OF_A_RUN = 64 * 1024;

    /** Limit per message over io_uring. */
    private static final long BYTES_OF_NETTY = 100;

    @ParameterizedTest
    @CsvSource({
        "EPOLL, ping-pong, websocket-json", "EPOLL, open, websocket-json", "IO_URING, ping-pong, websocket-json",
        "IO_URING, open, websocket-json", "EPOLL, ping-pong, sbe", "EPOLL, open, sbe"
    })
    void nothingIsAllocatedForAMessage(final Transport transport, final String model, final String wire) throws Exception {
        assumeTrue(transport.unavailable() == null, () -> transport + ": " + transport.unavailable());
        final FutureTask<JsonObject> task = new FutureTask<>(() -> {
            try (StubExchange exchange = new StubExchange()) {
                final Plan plan = new Plans(model, exchange.port(), directory.resolve("001.hlog"))
                        .withLoad("rate_per_second", 10_000.0).withLoad("accounts", 2).with("wire", wire)
                        .with("seconds", 2).plan();
                final Clock clock = new Clock();
                final Stop stop = new Stop();
                Rehearsal.of(plan, transport, clock, stop);
                return new Run(plan, transport, clock, stop, null).go();
            }
        });
        new FastThreadLocalThread(task, "trading").start();
        final JsonObject result = task.get();
        final JsonObject load = result.getAsJsonObject("load");
        final long messages = load.get("sent").getAsLong();
        final JsonObject runtime = load.getAsJsonArray("runtime").get(0).getAsJsonObject();
        final long bytes = runtime.get("allocated_bytes").getAsLong();
        assertTrue(messages > 1_000, result.toString());
        final long allowed = transport == Transport.IO_URING ? BYTES_OF_NETTY * messages : 0;
        assertTrue(bytes < BYTES_OF_A_RUN + allowed, bytes + " bytes for " + messages + " messages");
    }
}
