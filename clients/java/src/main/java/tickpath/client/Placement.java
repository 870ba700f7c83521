package tickpath.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Which thread runs where, by {@code taskset} and {@code chrt} of util-linux. An affinity library
 * would bring JNA or a library of its own into the measured process for calls that are made twice
 * before the run, and knows nothing of scheduling classes.
 */
final class Placement {
    private static final long TOOL_SECONDS_MAX = 10;

    private Placement() {}

    /** The calling thread's id in the kernel. */
    static long threadId() throws IOException {
        // The link says PROCESS/task/THREAD.
        return Long.parseLong(
                Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
    }

    /**
     * Moves all threads of this process away from the measured core, if it may run on others;
     * threads to come inherit that. False if there is no other core.
     */
    static boolean leave(final OptionalInt measured) throws Refusal, IOException {
        final BitSet allowed = allowedCores();
        final BitSet others = (BitSet) allowed.clone();
        measured.ifPresent(others::clear);
        if (!others.isEmpty() && !others.equals(allowed)) {
            final String list = others.stream().mapToObj(Integer::toString).collect(Collectors.joining(","));
            final String process = Long.toString(ProcessHandle.current().pid());
            run("pin all threads to cores " + list, "taskset", "-apc", list, process);
        }
        return !others.isEmpty();
    }

    private static BitSet allowedCores() throws IOException {
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

    static void pin(final long threadId, final OptionalInt core) throws Refusal {
        if (core.isPresent()) {
            final String cpu = Integer.toString(core.getAsInt());
            run("pin a thread to core " + cpu, "taskset", "-pc", cpu, Long.toString(threadId));
        }
    }

    static void schedule(final long threadId, final Scheduling scheduling) throws Refusal {
        if (scheduling.isRealtime()) {
            final String priority = Integer.toString(scheduling.priority());
            run("set the scheduling class", "chrt", scheduling.option(), "-p", priority, Long.toString(threadId));
        }
    }

    private static void run(final String purpose, final String... command) throws Refusal {
        try {
            final Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close();
            final String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (!process.waitFor(TOOL_SECONDS_MAX, TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw new Refusal("can't " + purpose + ": " + String.join(" ", command) + ": " + said);
            }
        } catch (final IOException e) {
            throw new Refusal("can't " + purpose + ": " + command[0] + " of util-linux does not start: " + e.getMessage(), e);
        } catch (final InterruptedException e) {
            throw new Refusal("can't " + purpose + ": interrupted", e);
        }
    }
}
