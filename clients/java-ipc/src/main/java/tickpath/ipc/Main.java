package tickpath.ipc;

import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.agrona.IoUtil;
import tickpath.shared.ClientException;
import tickpath.shared.Compilers;
import tickpath.shared.ExitStatus;

/** A peer of the ipc scenarios. clients/IPC.md has its arguments, input and output. */
public final class Main {

    private static final double REHEARSAL_SECONDS_MAX = 5;

    /** Time for the run to end in order when the process is told to end. */
    private static final long END_MILLIS_MAX = 500;

    /** Whether shutdown hooks run, because of a signal or at the end of {@link #main}. */
    private static volatile boolean ending;

    private Main() {}

    /**
     * Runs one plan and ends the process with an {@link ExitStatus}.
     *
     * @param arguments {@code --plan -}
     */
    public static void main(final String[] arguments) {
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        final int status = run(arguments, in, System.out, System.err);
        // A process that was told to end has its status already, and a second exit() would race
        // with the first.
        if (!ending) {
            System.exit(status);
        }
    }

    static int run(final String[] arguments, final BufferedReader in, final PrintStream out, final PrintStream err) {
        try {
            if (arguments.length != 2 || !arguments[0].equals("--plan") || !arguments[1].equals("-")) {
                throw new ClientException("called with \"" + String.join(" ", arguments) + "\": call it with --plan -, and the plan on stdin");
            }
            final String line = in.readLine();
            if (line == null) {
                throw new ClientException("stdin was closed before the plan: it is one line of JSON there");
            }
            return run(Plan.parse(line), in, out);
        } catch (final ClientException e) {
            err.println("java-ipc: " + e.getMessage());
        } catch (final IOException e) {
            err.println("java-ipc: a file can't be read or written: " + e);
        } catch (final InterruptedException e) {
            err.println("java-ipc: interrupted");
        } catch (final RuntimeException | Error e) {
            // Most likely one of a library, which have few checked exceptions. A full file system
            // is an InternalError.
            err.println("java-ipc: failed: " + e);
        }
        return ExitStatus.ERROR;
    }

    private static int run(final Plan plan, final BufferedReader in, final PrintStream out)
            throws ClientException, IOException, InterruptedException {
        final Path directory = Files.createTempDirectory(plan.directory(), "java-ipc-");
        final AtomicReference<Run> begun = new AtomicReference<>();
        final CountDownLatch over = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(begun.get(), over, directory)));
        try {
            rehearse(plan.rehearsal(), Files.createDirectory(directory.resolve("rehearsal")));
            return measure(plan, Files.createDirectory(directory.resolve("run")), begun, in, out);
        } finally {
            IoUtil.delete(directory.toFile(), true);
            over.countDown();
            out.flush();
        }
    }

    private static void rehearse(final Plan plan, final Path directory) throws ClientException, IOException, InterruptedException {
        try (Run run = new Run(plan, directory, REHEARSAL_SECONDS_MAX)) {
            // Its result is not needed: an error here occurs in the run as well.
            run.go();
        } finally {
            IoUtil.delete(directory.toFile(), true);
        }
        Compilers.awaitIdle();
    }

    private static int measure(
            final Plan plan,
            final Path directory,
            final AtomicReference<Run> begun,
            final BufferedReader in,
            final PrintStream out)
            throws ClientException, IOException, InterruptedException {
        try (Run run = new Run(plan, directory, Run.GRACE_SECONDS)) {
            begun.set(run);
            out.println(run.threadsLine());
            out.flush();
            final String line = in.readLine();
            if (!"go".equals(line)) {
                out.println(run.resultBeforeGo("stopped: stdin " + (line == null ? "ended" : "had " + line) + " where go was expected"));
                return ExitStatus.INCOMPLETE;
            }
            final JsonObject result = run.go();
            run.writeSamples();
            out.println(result);
            return result.get("complete").getAsBoolean() ? ExitStatus.COMPLETE : ExitStatus.INCOMPLETE;
        }
    }

    /** Runs when the process is told to end, and when it ends by itself. */
    private static void end(final Run run, final CountDownLatch over, final Path directory) {
        ending = true;
        try {
            if (run != null) {
                run.stop();
                over.await(END_MILLIS_MAX, TimeUnit.MILLISECONDS);
            }
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        IoUtil.delete(directory.toFile(), true);
    }
}
