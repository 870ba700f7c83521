package tickpath.ipc;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import tickpath.shared.ClientException;
import tickpath.shared.Placement;

/** One run: places two threads, which wait; then runs the load; then makes the result. */
final class Run implements AutoCloseable {
    /** Time limit of a run after the end of its schedule. */
    static final double GRACE_SECONDS = 30;

    /** Time from `go` to the first message, in which the threads wake up. */
    private static final long LEAD_NS = 10_000_000;

    /** Time limit for the last messages, and for a thread that was told to end. */
    private static final long DRAIN_NS = 1_000_000_000;

    private final Plan plan;
    private final Schedule schedule;
    private final Samples samples;
    private final Consumer consumer;
    private final Channel channel;
    private final Producer producer;
    private final double graceSeconds;
    private final Thread producing;
    private final Thread consuming;
    private final long[] threadIds = new long[2];
    private final CountDownLatch started = new CountDownLatch(threadIds.length);
    private final CountDownLatch go = new CountDownLatch(1);
    private final List<String> failures = Collections.synchronizedList(new ArrayList<>());
    private volatile boolean stopped;

    /** Makes the structure and starts the threads, which wait for {@link #go}. */
    Run(final Plan plan, final Path directory, final double graceSeconds) throws ClientException, IOException {
        this.plan = plan;
        this.graceSeconds = graceSeconds;
        schedule = new Schedule(plan.ratePerSecond());
        samples = samples(plan);
        consumer = new Consumer(plan, schedule, samples);
        // First, so that the structure's threads stay away from the measured cores as well.
        final boolean spareCore = Placement.leaveCores(plan.cores());
        channel = Channel.open(plan, consumer, directory, spareCore);
        producer = new Producer(plan, schedule, channel);
        producing = thread("producer", 0, producer::run);
        consuming = thread("consumer", 1, channel::receive);
        try {
            place();
        } catch (final ClientException e) {
            close();
            throw e;
        }
    }

    private static Samples samples(final Plan plan) throws ClientException {
        try {
            return new Samples(plan.messagesInAll());
        } catch (final OutOfMemoryError e) {
            throw new ClientException("the samples of " + plan.messagesInAll() + " messages, 8 bytes each, don't fit into a heap of "
                    + Runtime.getRuntime().maxMemory() + " bytes: lower `messages`, or raise -Xmx", e);
        }
    }

    private Thread thread(final String name, final int number, final Runnable body) {
        final Thread thread = new Thread(() -> {
            try {
                threadIds[number] = Placement.threadId();
                started.countDown();
                go.await();
                if (!stopped) {
                    body.run();
                }
            } catch (final Throwable e) {
                failures.add("the " + name + " failed: " + e);
                started.countDown();
                stop();
            }
        }, name);
        // A thread that does not end must not keep the process alive.
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private void place() throws ClientException {
        try {
            started.await();
        } catch (final InterruptedException e) {
            throw new ClientException("interrupted before the run", e);
        }
        for (int number = 0; number < threadIds.length; number++) {
            if (threadIds[number] == 0) {
                throw new ClientException(failures.get(0));
            }
            Placement.pin(threadIds[number], plan.cores().get(number));
            Placement.schedule(threadIds[number], plan.scheduling());
        }
    }

    /** The line with the kernel's ids of both threads. */
    String threadsLine() {
        final JsonArray ids = new JsonArray();
        for (final long id : threadIds) {
            ids.add(id);
        }
        final JsonObject line = new JsonObject();
        line.add("threads", ids);
        return line.toString();
    }

    /** Runs the load, and returns the result. */
    JsonObject go() throws InterruptedException {
        final long startNs = System.nanoTime() + LEAD_NS;
        final long lastDueNs = startNs + schedule.offsetNs(plan.messagesInAll());
        final long deadlineNs = lastDueNs + (long) (graceSeconds * 1e9);
        producer.startAt(startNs, deadlineNs);
        consumer.startAt(startNs);
        go.countDown();
        join(producing, deadlineNs + DRAIN_NS);
        final boolean sentAll = producer.sent() == plan.messages();
        join(consuming, sentAll ? deadlineNs : System.nanoTime() + DRAIN_NS);
        stop();
        join(producing, System.nanoTime() + DRAIN_NS);
        join(consuming, System.nanoTime() + DRAIN_NS);
        return result(startNs + schedule.offsetNs(plan.warmUpMessages()));
    }

    /** The result of a run that was stopped before the load. */
    JsonObject resultBeforeGo(final String failure) {
        failures.add(failure);
        return result(System.nanoTime());
    }

    /** Ends the run early. May be called from any thread. */
    void stop() {
        stopped = true;
        producer.stop();
        consumer.stop();
        channel.interrupt();
    }

    private static void join(final Thread thread, final long untilNs) throws InterruptedException {
        final long leftNs = untilNs - System.nanoTime();
        if (leftNs > 0) {
            TimeUnit.NANOSECONDS.timedJoin(thread, leftNs);
        }
    }

    private JsonObject result(final long startNs) {
        final int sent = producer.sent();
        final int received = samples.received(plan.warmUpMessages());
        if (sent < plan.messages()) {
            failures.add("stopped: " + (plan.messages() - sent) + " of " + plan.messages() + " messages were not sent");
        } else if (!consumer.hasSeenLast()) {
            failures.add("stopped: the last message did not arrive");
        }
        if (consumer.unknown() > 0) {
            failures.add(consumer.unknown() + " messages had an index that was never sent");
        }
        final JsonObject result = new JsonObject();
        result.addProperty("complete", failures.isEmpty());
        final JsonArray sentences = new JsonArray();
        failures.forEach(sentences::add);
        result.add("failures", sentences);
        result.addProperty("sent", sent);
        result.addProperty("received", received);
        result.addProperty("lost", sent - received);
        result.addProperty("duplicated", consumer.duplicated());
        result.addProperty("out_of_order", consumer.outOfOrder());
        result.addProperty("held_back", producer.heldBack());
        result.addProperty("lateness_ns_p99", samples.latenessNsP99(plan.warmUpMessages()));
        result.addProperty("start_monotonic_ns", startNs);
        result.addProperty("end_monotonic_ns", received > 0 ? consumer.latestNs() : startNs);
        return result;
    }

    void writeSamples() throws IOException {
        samples.write(plan.samples(), plan.warmUpMessages());
    }

    /** Frees the structure, unless a thread that did not end still uses its memory. */
    @Override
    public void close() {
        stop();
        go.countDown();
        try {
            join(producing, System.nanoTime() + DRAIN_NS);
            join(consuming, System.nanoTime() + DRAIN_NS);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (!producing.isAlive() && !consuming.isAlive()) {
            channel.close();
        }
    }
}
