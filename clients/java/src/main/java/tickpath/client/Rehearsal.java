package tickpath.client;

import com.google.gson.JsonObject;
import java.io.IOException;
import tickpath.shared.ClientException;
import tickpath.shared.Compilers;

/**
 * A run against an exchange in this process before the real one, so that the compilers see the
 * whole path, the measured part included. After a warm-up alone they would discard code when the
 * measured part takes branches that the warm-up never took.
 */
final class Rehearsal {
    private static final double SECONDS = 3;
    private static final int LANES_MAX = 2;
    private static final double RATE_PER_SECOND_MIN = 20_000;

    private Rehearsal() {}

    static void of(final Plan plan, final Transport transport, final Clock clock, final Stop stop)
            throws ClientException, IOException, InterruptedException {
        try (StubExchange exchange = new StubExchange()) {
            final Plan rehearsed = plan.rehearsal(exchange.port(), load(plan.load()), SECONDS);
            final JsonObject result = new Run(rehearsed, transport, clock, stop, null).go();
            if (!result.get("complete").getAsBoolean() && !stop.isSet()) {
                // A busy machine may not keep up. The code is compiled all the same.
                return;
            }
        }
        Compilers.awaitIdle();
        System.gc();
    }

    /** One account on each of a few connections, at a rate high enough for the compilers. */
    private static Plan.Load load(final Plan.Load load) {
        final int lanes = Math.min(load.connections(), LANES_MAX);
        return new Plan.Load(
                load.open(), Math.min(Math.max(load.ratePerSecond(), RATE_PER_SECOND_MIN), 2 * RATE_PER_SECOND_MIN),
                load.arrival(), load.burst(), load.seed(), lanes, lanes, load.cancelAfter(), StubExchange.INSTRUMENT, load.side(),
                load.price(), load.amount(), load.firstToken());
    }
}
