package tickpath.shared;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Pins threads and sets their scheduling classes, by {@code taskset} and {@code chrt} of
 * util-linux. An affinity library would bring a native library into the measured process for a few
 * calls before the run, and none of them sets scheduling classes.
 */
public final class Placement {
    private static final long TOOL_SECONDS_MAX = 10;

    private Placement() {}

    /** The calling thread's id in the kernel. */
    public static long threadId() throws IOException {
        // The link says PROCESS/task/THREAD.
        return Long.parseLong(
                Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
    }

    /**
     * Moves all threads of this process away from the measured cores, if it may run on others. New
     * threads inherit that.
     *
     * @param measured one core for each measuring thread; empty for one that is not pinned
     * @return whether a core is left for the other threads
     */
    public static boolean leaveCores(final List<OptionalInt> measured) throws ClientException, IOException {
        final BitSet allowed = allowedCores();
        final BitSet others = (BitSet) allowed.clone();
        measured.forEach(core -> core.ifPresent(others::clear));
        // A measuring thread that is not pinned takes one of them.
        final long unpinned = measured.stream().filter(OptionalInt::isEmpty).count();
        if (!others.isEmpty() && !others.equals(allowed)) {
            final String list = others.stream().mapToObj(Integer::toString).collect(Collectors.joining(","));
            run("pin all threads to cores " + list, "taskset", "-apc", list, Long.toString(ProcessHandle.current().pid()));
        }
        return others.cardinality() > unpinned;
    }

    /** The cores that the calling thread may run on. */
    static BitSet allowedCores() throws IOException {
        final BitSet cores = new BitSet();
        for (final String line : Files.readAllLines(Path.of("/proc/thread-self/status"))) {
            if (line.startsWith("Cpus_allowed_list:")) {
                for (final String range : line.substring(line.indexOf(':') + 1).strip().split(",")) {
                    final String[] ends = range.split("-");
                    cores.set(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]) + 1);
                }
            }
        }
        return cores;
    }

    /** Pins a thread to a core; does nothing without a core. */
    public static void pin(final long threadId, final OptionalInt core) throws ClientException {
        if (core.isPresent()) {
            final String cpu = Integer.toString(core.getAsInt());
            run("pin a thread to core " + cpu, "taskset", "-pc", cpu, Long.toString(threadId));
        }
    }

    /** Sets a thread's scheduling class; does nothing with {@link Scheduling#INHERITED}. */
    public static void schedule(final long threadId, final Scheduling scheduling) throws ClientException {
        if (scheduling.isRealtime()) {
            final String priority = Integer.toString(scheduling.priority());
            run("set the scheduling class", "chrt", scheduling.option(), "-p", priority, Long.toString(threadId));
        }
    }

    private static void run(final String purpose, final String... command) throws ClientException {
        try {
            final Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close();
            final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (!process.waitFor(TOOL_SECONDS_MAX, TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw new ClientException("can't " + purpose + ": " + String.join(" ", command) + ": " + output);
            }
        } catch (final IOException e) {
            throw new ClientException(
                    "can't " + purpose + ": " + command[0] + " of util-linux does not start: " + e.getMessage(), e);
        } catch (final InterruptedException e) {
            throw new ClientException("can't " + purpose + ": interrupted", e);
        }
    }
}
