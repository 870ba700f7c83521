package tickpath.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.MessageHandler;
import tickpath.shared.ClientException;

/**
 * The thread that keeps the histograms and writes the log. It drains the ring after a run of up to
 * a minute, and once a second during a longer run or one with progress lines.
 */
final class Histograms implements MessageHandler {
    /** The ring of a longer run is drained during the run. */
    static final double SECONDS_IN_MEMORY_MAX = 60;

    static final long LATENCY_NS_MAX = 3_600_000_000_000L;

    private static final int SIGNIFICANT_DIGITS = 3;
    private static final int SAMPLES_AT_ONCE = 4096;
    private static final String[] SERIES = {
        "order.response", "order.service", "cancel.response", "cancel.service", "cycle.service", "send.lateness"
    };

    private final Recorder recorder;
    private final String subject;
    private final Runnable failed;
    private final Histogram[] current = new Histogram[SERIES.length];
    private final Path path;
    private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
    private final OutputStream file;
    private final boolean writesDuringRun;
    /** Null: the plan asks for no progress lines. */
    private final Progress progress;
    private final HistogramLogWriter log;
    private final PrintStream lines;
    private final Thread thread = new Thread(this::drain, "histograms");
    private final long startNs;
    private long intervalNs;
    private long recorded;
    private volatile String failure;

    /**
     * Opens the log, to append to it.
     *
     * @param path null: write no log
     * @param progress null: the plan asks for no progress lines
     * @param startNs now, on the recorder's clock
     * @param failed called when the log can't be written
     */
    Histograms(final Recorder recorder, final String subject, final Path path, final boolean writesDuringRun,
            final Progress progress, final long startNs, final Runnable failed) throws ClientException {
        this.recorder = recorder;
        this.subject = subject;
        this.path = path;
        this.writesDuringRun = writesDuringRun;
        this.progress = progress;
        this.startNs = startNs;
        this.failed = failed;
        for (int series = 0; series < SERIES.length; series++) {
            current[series] = new Histogram(1, LATENCY_NS_MAX, SIGNIFICANT_DIGITS);
        }
        try {
            file = path == null
                    ? OutputStream.nullOutputStream()
                    : Files.newOutputStream(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (final IOException e) {
            throw new ClientException("can't write " + path + ": " + e + "; free some space or choose another place", e);
        }
        lines = new PrintStream(kept, false, StandardCharsets.UTF_8);
        log = new HistogramLogWriter(lines);
        final long wallMillis = System.currentTimeMillis();
        log.outputComment("[Logged with tickpath; values in nanoseconds]");
        log.outputStartTime(wallMillis);
        log.outputBaseTime(wallMillis);
        log.outputLegend();
    }

    void begin() {
        recorder.wake(thread);
        ThreadStarter.start(thread);
    }

    /** Waits until everything is written. */
    void end() throws InterruptedException {
        thread.join();
    }

    /** The reason for an incomplete log; null if it is complete. */
    String failure() {
        return failure;
    }

    /** Samples in the log. */
    long recorded() {
        return recorded;
    }

    private void drain() {
        while (true) {
            // Before the ring is read: a recorder that has finished adds no more samples.
            final boolean isLast = recorder.isFinished();
            if (recorder.ring().read(this, SAMPLES_AT_ONCE) == 0) {
                if (isLast) {
                    break;
                }
                LockSupport.parkNanos(this, writesDuringRun || progress != null ? Recorder.INTERVAL_NS : TimeUnit.DAYS.toNanos(1));
            }
        }
        write();
        try {
            file.close();
        } catch (final IOException e) {
            fail(e);
        }
    }

    @Override
    public void onMessage(final int type, final org.agrona.MutableDirectBuffer buffer, final int index, final int length) {
        final long value = ((DirectBuffer) buffer).getLong(index);
        switch (type) {
            case Recorder.START -> intervalNs = value;
            case Recorder.ROLL -> roll(value);
            default -> {
                current[type - 1].recordValue(Math.min(value, LATENCY_NS_MAX));
                recorded++;
            }
        }
    }

    private void roll(final long endNs) {
        if (progress != null) {
            progress.report(intervalNs, endNs, current);
        }
        for (int series = 0; series < SERIES.length; series++) {
            final Histogram histogram = current[series];
            if (histogram.getTotalCount() > 0) {
                // A reset removes the tag.
                histogram.setTag(subject + "." + SERIES[series]);
                log.outputIntervalHistogram((intervalNs - startNs) / 1e9, (endNs - startNs) / 1e9, histogram, 1.0);
                histogram.reset();
            }
        }
        intervalNs = endNs;
        if (writesDuringRun) {
            write();
        }
    }

    /** Writes the lines so far to the file. */
    private void write() {
        lines.flush();
        try {
            if (failure == null) {
                kept.writeTo(file);
            }
        } catch (final IOException e) {
            fail(e);
        }
        kept.reset();
    }

    private void fail(final IOException e) {
        if (failure == null) {
            failure = "can't write " + path + ": " + e.getMessage() + "; free some space or choose another place";
            failed.run();
        }
    }
}
