package tickpath.client;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import io.netty.channel.ManualIoEventLoop;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import tickpath.shared.ClientException;
import tickpath.shared.Placement;

/** One run of one plan, on the calling thread: connect, log on, warm up, measure, drain, report. */
final class Run {
    private final Plan plan;
    private final Transport transport;
    private final Clock clock;
    private final Stop stop;
    private final Consumer<String> lines;
    private final int nonce;

    /** @param lines prints progress lines on another thread; null: there is no core for one */
    Run(final Plan plan, final Transport transport, final Clock clock, final Stop stop, final Consumer<String> lines) {
        this.plan = plan;
        this.transport = transport;
        this.clock = clock;
        this.stop = stop;
        this.lines = lines;
        nonce = ClientIds.nonce();
    }

    /** Carries the plan out. The result says whether the run was complete. */
    JsonObject go() throws ClientException, IOException, InterruptedException {
        final ManualIoEventLoop loop = new ManualIoEventLoop(Thread.currentThread(), transport.handlers());
        try (Usage usage = new Usage(plan.exchangeProcess())) {
            final Dialect dialect = Dialect.of(plan, nonce);
            final List<Lane> lanes = new LogOn(loop, transport, plan, dialect, clock, stop).lanes();
            return measure(loop, lanes, dialect, usage);
        } finally {
            end(loop);
        }
    }

    private JsonObject measure(final ManualIoEventLoop loop, final List<Lane> lanes, final Dialect dialect, final Usage usage)
            throws ClientException, IOException, InterruptedException {
        final boolean isLong = plan.seconds() > Histograms.SECONDS_IN_MEMORY_MAX;
        final boolean watched = plan.progress() && lines != null;
        final Recorder recorder = new Recorder(plan, isLong || watched);
        final Progress progress = watched ? new Progress(plan.load().open(), lines) : null;
        final Histograms histograms =
                new Histograms(recorder, plan.subject(), plan.hlog(), isLong, progress, clock.nowNs(), stop::set);
        histograms.begin();
        final Desk desk = new Desk(clock, loop, transport, plan, lanes, dialect, recorder, usage);
        // Last, so that the set-up above does not run in a real-time class.
        Placement.schedule(Placement.threadId(), plan.scheduling());
        final boolean complete;
        try {
            complete = plan.load().open() ? new OpenLoop(desk, plan).run(stop) : new PingPong(desk, plan).run(stop);
        } finally {
            desk.finish();
        }
        histograms.end();
        return result(desk, complete, histograms, recorder, usage);
    }

    private void end(final ManualIoEventLoop loop) {
        loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        while (!loop.isTerminated()) {
            loop.runNow();
        }
    }

    private JsonObject result(final Desk desk, final boolean complete, final Histograms histograms, final Recorder recorder,
            final Usage usage) {
        final List<String> failures = new ArrayList<>();
        if (histograms.failure() != null) {
            failures.add(histograms.failure());
        }
        if (desk.failure != null) {
            failures.add(desk.failure);
        }
        if (desk.complaint() != null) {
            failures.add("first complaint: " + desk.complaint());
        }
        final JsonArray sentences = new JsonArray();
        failures.forEach(sentences::add);
        final JsonObject result = new JsonObject();
        result.addProperty("complete", complete && histograms.failure() == null);
        result.add("failures", sentences);
        final JsonObject load = load(desk.counts, usage);
        final JsonObject runtime = usage.runtime();
        runtime.addProperty("transport", transport.option());
        runtime.addProperty("recorder_waits", recorder.waits());
        final JsonArray ofRuns = new JsonArray();
        ofRuns.add(runtime);
        load.add("runtime", ofRuns);
        result.add("load", load);
        final JsonObject stamps = new JsonObject();
        stamps.addProperty("source", Clock.SOURCE);
        stamps.addProperty("cost_ns", clock.costNs());
        result.add("clock", stamps);
        return result;
    }

    private JsonObject load(final Counts counts, final Usage usage) {
        final JsonObject load = new JsonObject();
        load.addProperty("model", plan.load().open() ? "open" : "ping-pong");
        if (plan.load().open()) {
            load.addProperty("rate_per_second_offered", plan.load().ratePerSecond());
        } else {
            load.add("rate_per_second_offered", JsonNull.INSTANCE);
        }
        load.addProperty("rate_per_second_achieved", counts.ratePerSecondAchieved);
        load.addProperty("sent", counts.sent);
        load.addProperty("received", counts.received);
        load.addProperty("lost", counts.lost);
        load.addProperty("duplicated", counts.duplicated);
        load.addProperty("out_of_order", counts.outOfOrder);
        load.addProperty("overtakes", counts.overtakes);
        load.addProperty("rejected", counts.rejected);
        load.addProperty("unexpected", counts.unexpected);
        load.addProperty("held_back", counts.heldBack);
        load.addProperty("warm_up_sent", counts.warmUpSent);
        final JsonObject lengths = new JsonObject();
        lengths.addProperty("order", counts.meanLength(Counts.ORDER));
        lengths.addProperty("order_reply", counts.meanLength(Counts.ORDER_REPLY));
        lengths.addProperty("cancel", counts.meanLength(Counts.CANCEL));
        lengths.addProperty("cancel_reply", counts.meanLength(Counts.CANCEL_REPLY));
        load.add("message_bytes", lengths);
        load.addProperty("context_switches_involuntary", usage.contextSwitchesInvoluntary());
        load.addProperty("page_faults", usage.pageFaults());
        load.add("processor", usage.processor(plan.spins()));
        return load;
    }
}
