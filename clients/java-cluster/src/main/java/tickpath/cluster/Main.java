package tickpath.cluster;

import java.io.IOException;
import java.io.PrintStream;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import tickpath.shared.ClientException;
import tickpath.shared.ExitStatus;

/** A member of a cluster as a process. docs/guide/cluster.md has its arguments and its output. */
public final class Main {
    /** The engine's library; default: beside the jar. */
    static final String LIBRARY = "tickpath.engine";

    /** The parent of the media driver's directory, which is memory of this machine. */
    private static final Path MEMORY = Path.of("/dev/shm");

    /** After a kill, Aeron takes the files of the dead process for a live one's for 10 s. */
    private static final long START_SECONDS_MAX = 15;

    private static final long START_AGAIN_MS = 200;

    private Main() {}

    /**
     * Runs a member until it is told to end.
     *
     * @param arguments {@code member FILE NUMBER DIRECTORY}
     */
    public static void main(final String[] arguments) {
        System.exit(run(arguments, System.out, System.err));
    }

    static int run(final String[] arguments, final PrintStream out, final PrintStream err) {
        try {
            if (arguments.length != 4 || !arguments[0].equals("member")) {
                throw new ClientException("called with \"" + String.join(" ", arguments)
                        + "\": call it with member FILE NUMBER DIRECTORY");
            }
            final ClusterFile cluster = ClusterFile.read(Path.of(arguments[1]));
            NativeEngine.load(library());
            return run(cluster, number(arguments[2], cluster), Path.of(arguments[3]), out, err);
        } catch (final ClientException e) {
            err.println("java-cluster: " + e.getMessage());
        } catch (final IOException e) {
            err.println("java-cluster: a file can't be read or written: " + e);
        } catch (final InterruptedException e) {
            err.println("java-cluster: interrupted");
        } catch (final RuntimeException e) {
            // Most likely one of Aeron, which has few checked exceptions.
            err.println("java-cluster: failed: " + e);
        }
        return ExitStatus.ERROR;
    }

    private static int number(final String text, final ClusterFile cluster) throws ClientException {
        final int members = cluster.members().size();
        if (!text.matches("[0-9]") || Integer.parseInt(text) >= members) {
            throw new ClientException("member " + text + ": the file has the members 0 to " + (members - 1));
        }
        return Integer.parseInt(text);
    }

    private static Path library() throws ClientException {
        final String path = System.getProperty(LIBRARY);
        if (path != null) {
            return Path.of(path);
        }
        try {
            final Path jar = Path.of(Main.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            return jar.resolveSibling(System.mapLibraryName("engine_abi"));
        } catch (final URISyntaxException e) {
            throw new ClientException("the engine's library is not found: name it with -D" + LIBRARY + "=PATH", e);
        }
    }

    private static int run(
            final ClusterFile cluster,
            final int number,
            final Path directory,
            final PrintStream out,
            final PrintStream err)
            throws ClientException, IOException, InterruptedException {
        Files.createDirectories(directory);
        final CountDownLatch told = new CountDownLatch(1);
        final CountDownLatch closed = new CountDownLatch(1);
        final AtomicBoolean byItself = new AtomicBoolean();
        final Thread hook = new Thread(() -> {
            told.countDown();
            await(closed);
        });
        Runtime.getRuntime().addShutdownHook(hook);
        final Runnable ended = () -> {
            byItself.set(told.getCount() > 0);
            told.countDown();
        };
        try {
            final Member member = start(cluster, number, directory, ended, out, err);
            out.println("{\"member\":" + number + ",\"process\":" + ProcessHandle.current().pid() + "}");
            told.await();
            member.close();
        } finally {
            closed.countDown();
        }
        if (byItself.get()) {
            err.println("java-cluster: member " + number + " has ended: what it said above is why, or it was told to");
            return ExitStatus.INCOMPLETE;
        }
        return ExitStatus.COMPLETE;
    }

    private static void await(final CountDownLatch latch) {
        try {
            latch.await();
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The directory of a member's media driver. */
    static Path memory(final ClusterFile.Address address) {
        return MEMORY.resolve("tickpath-cluster-" + address.host() + "-" + address.port());
    }

    private static Member start(
            final ClusterFile cluster,
            final int number,
            final Path directory,
            final Runnable ended,
            final PrintStream out,
            final PrintStream err)
            throws InterruptedException {
        final Path memory = memory(cluster.members().get(number));
        final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS_MAX);
        while (true) {
            try {
                final EngineService service = new EngineService(cluster.engine(), number, out, err);
                return new Member(cluster, number, directory, memory, service, ended, error -> report(number, error, err));
            } catch (final IllegalStateException e) {
                if (!String.valueOf(e.getMessage()).startsWith("active ") || System.nanoTime() - deadline > 0) {
                    throw e;
                }
                Thread.sleep(START_AGAIN_MS);
            }
        }
    }

    private static void report(final int number, final Throwable error, final PrintStream err) {
        err.println("member " + number + ": " + error);
        if (error.getCause() != null) {
            err.println("member " + number + ": because of " + error.getCause());
        }
    }
}
