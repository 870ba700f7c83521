package tickpath.client;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import tickpath.shared.ClientException;

/**
 * A run against an exchange in this process, before the real one: the compilers see the whole path,
 * the measured part included. A warm-up alone would let them throw code away when the measured part
 * takes branches that it never took.
 */
final class Rehearsal {
    private static final double SECONDS = 3;
    private static final int LANES_MAX = 2;
    private static final double RATE_PER_SECOND_MIN = 20_000;

    /** When they have finished nothing for this long, they have nothing to do. */
    private static final long COMPILERS_QUIET_MILLIS = 200;

    private static final long COMPILERS_SECONDS_MAX = 5;

    private Rehearsal() {}

    static void of(final Plan plan, final Transport transport, final Clock clock, final Stop stop)
            throws ClientException, IOException, InterruptedException {
        try (StubExchange exchange = new StubExchange()) {
            final Plan rehearsed = plan.rehearsal(exchange.port(), load(plan.load()), SECONDS);
            final JsonObject result = new Run(rehearsed, transport, clock, stop, null).go();
            if (!result.get("complete").getAsBoolean() && !stop.isSet()) {
                // It may be too much for a busy machine; what it was for is done all the same.
                return;
            }
        }
        awaitCompilers();
        System.gc();
    }

    /** An account on each of a few connections, at a rate that the compilers take notice of. */
    private static Plan.Load load(final Plan.Load load) {
        final int lanes = Math.min(load.connections(), LANES_MAX);
        return new Plan.Load(
                load.open(), Math.min(Math.max(load.ratePerSecond(), RATE_PER_SECOND_MIN), 2 * RATE_PER_SECOND_MIN),
                load.arrival(), load.burst(), load.seed(), lanes, lanes, load.cancelAfter(), load.instrument(), load.side(),
                load.price(), load.amount(), load.firstToken());
    }

    /** They have a queue, and during the run perhaps no core of their own. */
    private static void awaitCompilers() throws InterruptedException {
        final CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
        final long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(COMPILERS_SECONDS_MAX);
        if (compilers == null) {
            return;
        }
        long before = -1;
        long spentMillis = compilers.getTotalCompilationTime();
        while (spentMillis != before && System.nanoTime() - deadlineNs < 0) {
            TimeUnit.MILLISECONDS.sleep(COMPILERS_QUIET_MILLIS);
            before = spentMillis;
            spentMillis = compilers.getTotalCompilationTime();
        }
    }
}
