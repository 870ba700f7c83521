package tickpath.client;

import com.google.gson.JsonObject;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Resource use of the measured part: context switches, page faults and allocated bytes of the
 * measuring thread, processor time of both ends, and the time of the virtual machine's collectors
 * and compilers. Created and used on the measuring thread.
 */
final class Usage implements AutoCloseable {
    private static final Pattern SWITCHES = Pattern.compile("nonvoluntary_ctxt_switches:\\s*(\\d+)");
    private static final int FAULTS_MINOR = 7;
    private static final int FAULTS_MAJOR = 9;
    private static final int FILE_BYTES_MAX = 8192;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final GarbageCollectorMXBean[] collectors =
            ManagementFactory.getGarbageCollectorMXBeans().toArray(GarbageCollectorMXBean[]::new);
    private final CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
    private final ProcessorMeter processor;
    private final FileChannel status;
    private final FileChannel stat;
    private final Reading before = new Reading();
    private final Reading after = new Reading();
    private boolean begun;

    /** One reading of all counters. */
    private static final class Reading {
        final ByteBuffer status = ByteBuffer.allocateDirect(FILE_BYTES_MAX);
        final ByteBuffer stat = ByteBuffer.allocateDirect(FILE_BYTES_MAX);
        long allocatedBytes;
        long collections;
        long collectingMillis;
        long compilingMillis;

        long switches() {
            final Matcher matcher = SWITCHES.matcher(text(status));
            if (!matcher.find()) {
                throw new IllegalStateException("/proc/thread-self/status has no context switches");
            }
            return Long.parseLong(matcher.group(1));
        }

        long faults() {
            final String line = text(stat);
            // A thread's name may contain anything: the fields begin after its parenthesis.
            final String[] fields = line.substring(line.lastIndexOf(')') + 1).strip().split(" ");
            if (fields.length <= FAULTS_MAJOR) {
                throw new IllegalStateException("/proc/thread-self/stat has no page faults: " + line);
            }
            return Long.parseLong(fields[FAULTS_MINOR]) + Long.parseLong(fields[FAULTS_MAJOR]);
        }

        private static String text(final ByteBuffer file) {
            return StandardCharsets.US_ASCII.decode(file.duplicate().flip()).toString();
        }
    }

    /** @param exchangeProcess a process of this machine */
    Usage(final OptionalLong exchangeProcess) throws IOException {
        processor = new ProcessorMeter(exchangeProcess);
        status = FileChannel.open(Path.of("/proc/thread-self/status"));
        stat = FileChannel.open(Path.of("/proc/thread-self/stat"));
    }

    /** Begins the measured part. */
    void begin() {
        begun = true;
        read(before);
        processor.begin();
        before.allocatedBytes = threads.getCurrentThreadAllocatedBytes();
    }

    /** Ends the measured part. */
    void end() {
        if (begun) {
            after.allocatedBytes = threads.getCurrentThreadAllocatedBytes();
            processor.end();
            read(after);
        }
    }

    private void read(final Reading reading) {
        reading.collections = 0;
        reading.collectingMillis = 0;
        for (final GarbageCollectorMXBean collector : collectors) {
            reading.collections += collector.getCollectionCount();
            reading.collectingMillis += collector.getCollectionTime();
        }
        reading.compilingMillis = compilers == null ? 0 : compilers.getTotalCompilationTime();
        try {
            status.read(reading.status.clear(), 0);
            stat.read(reading.stat.clear(), 0);
        } catch (final IOException e) {
            // Not zero: an unknown number of page faults must not look like none.
            throw new UncheckedIOException(e);
        }
    }

    long contextSwitchesInvoluntary() {
        return begun ? after.switches() - before.switches() : 0;
    }

    long pageFaults() {
        return begun ? after.faults() - before.faults() : 0;
    }

    long allocatedBytes() {
        return begun ? after.allocatedBytes - before.allocatedBytes : 0;
    }

    /** `load.processor` of a result; null if it can't be told. */
    JsonObject processor(final boolean spins) {
        return begun ? processor.json(spins) : null;
    }

    /** `load.runtime` of a result. */
    JsonObject runtime() {
        final JsonObject runtime = new JsonObject();
        runtime.addProperty("name", "Java " + System.getProperty("java.version"));
        runtime.addProperty("allocated_bytes", allocatedBytes());
        runtime.addProperty("collections", begun ? after.collections - before.collections : 0);
        runtime.addProperty("collecting_ms", begun ? after.collectingMillis - before.collectingMillis : 0);
        runtime.addProperty("compiling_ms", begun ? after.compilingMillis - before.compilingMillis : 0);
        return runtime;
    }

    @Override
    public void close() throws IOException {
        processor.close();
        status.close();
        stat.close();
    }
}
