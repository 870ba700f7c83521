package tickpath.cluster;

import io.aeron.AeronVersion;
import io.aeron.cluster.service.ClusteredService;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import tickpath.shared.ClientException;
import tickpath.shared.ExitStatus;

/**
 * A member of a cluster, or a load on one, as a process. docs/guide/cluster.md has its arguments
 * and its output.
 */
public final class Main {
    /** The engine's library; default: beside the jar. */
    static final String LIBRARY = "tickpath.engine";

    /** The parent of the media driver's directory, which is memory of this machine. */
    static final Path MEMORY = Path.of("/dev/shm");

    /** After a kill, Aeron takes the files of the dead process for a live one's for 10 s. */
    private static final long START_SECONDS_MAX = 15;

    private static final long START_AGAIN_MS = 200;

    private static final String USAGE = "member FILE NUMBER DIRECTORY, or echo-member or copy-member with the same,"
            + " or measure FILE GATEWAY HOST RATE SECONDS, or follower FILE HOST PORT";

    private static final int MEMBER_ARGUMENTS = 4;
    private static final int MEASURE_ARGUMENTS = 6;
    private static final int FOLLOWER_ARGUMENTS = 4;
    private static final int PORT_MAX = 65_535;

    /** A member's copy of the exchange's journal, in its directory. */
    private static final String COPY = "copy";

    private static final double WARM_UP_SECONDS = 2;
    private static final double GATEWAY_MAX = 1e9;
    private static final double RATE_MAX = 1e6;
    private static final double SECONDS_MAX = 86_400;

    private Main() {}

    /**
     * Runs a member until it is told to end, or a load.
     *
     * @param arguments as {@code USAGE} has them
     */
    public static void main(final String[] arguments) {
        System.exit(run(arguments, System.out, System.err));
    }

    static int run(final String[] arguments, final PrintStream out, final PrintStream err) {
        try {
            if (arguments.length == MEMBER_ARGUMENTS && arguments[0].endsWith("member")) {
                return member(arguments, out, err);
            }
            if (arguments.length == FOLLOWER_ARGUMENTS && arguments[0].equals("follower")) {
                return follower(arguments, out, err);
            }
            if (arguments.length == MEASURE_ARGUMENTS && arguments[0].equals("measure")) {
                return measure(arguments, out);
            }
            throw usage(arguments);
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

    private static ClientException usage(final String[] arguments) {
        return new ClientException("called with \"" + String.join(" ", arguments) + "\": call it with " + USAGE);
    }

    private static int member(final String[] arguments, final PrintStream out, final PrintStream err)
            throws ClientException, IOException, InterruptedException {
        final ClusterFile cluster = ClusterFile.read(Path.of(arguments[1]));
        final int number = number(arguments[2], cluster);
        final Path directory = Path.of(arguments[3]);
        final Supplier<ClusteredService> service;
        switch (arguments[0]) {
            case "member":
                final EngineShape shape = cluster.engineShape();
                NativeEngine.load(library());
                service = () -> new EngineService(shape, number, out, err);
                break;
            case "copy-member":
                NativeEngine.load(library());
                service = () -> new CopyService(directory.resolve(COPY), cluster.diskTimeoutNs(), number, out, err);
                break;
            case "echo-member":
                service = EchoService::new;
                break;
            default:
                throw usage(arguments);
        }
        return run(cluster, number, directory, service, out, err);
    }

    private static int follower(final String[] arguments, final PrintStream out, final PrintStream err)
            throws ClientException, IOException {
        final ClusterFile cluster = ClusterFile.read(Path.of(arguments[1]));
        final String port = arguments[3];
        if (!port.matches("[0-9]{1,5}") || Integer.parseInt(port) > PORT_MAX) {
            throw new ClientException("PORT is " + port + ", and must be a number from 0 to " + PORT_MAX);
        }
        final FollowerGateway gateway = new FollowerGateway(cluster, arguments[2], Integer.parseInt(port), err);
        Runtime.getRuntime().addShutdownHook(new Thread(gateway::close));
        endWith(cluster.parent());
        gateway.awaitLeader();
        out.println("{\"follower\":\"" + gateway.address() + "\",\"process\":" + ProcessHandle.current().pid()
                + ",\"aeron\":\"" + AeronVersion.VERSION + "\"}");
        gateway.run();
        return ExitStatus.COMPLETE;
    }

    /** Ends this process in order once that one has ended; 0: none. */
    private static void endWith(final long parent) {
        if (parent > 0) {
            final Runnable end = () -> System.exit(ExitStatus.INCOMPLETE);
            ProcessHandle.of(parent).ifPresentOrElse(process -> process.onExit().thenRun(end), end);
        }
    }

    private static int measure(final String[] arguments, final PrintStream out) throws ClientException {
        final ClusterFile cluster = ClusterFile.read(Path.of(arguments[1]));
        final long gateway = (long) positive("GATEWAY", arguments[2], GATEWAY_MAX);
        final double rate = positive("RATE", arguments[4], RATE_MAX);
        final double seconds = positive("SECONDS", arguments[5], SECONDS_MAX);
        final AtomicBoolean interrupted = new AtomicBoolean();
        final CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            interrupted.set(true);
            await(closed);
        }));
        try (Measure measure = new Measure(cluster, gateway, arguments[3], interrupted::get)) {
            out.println(measure.run(rate, WARM_UP_SECONDS, seconds));
        } finally {
            closed.countDown();
        }
        return ExitStatus.COMPLETE;
    }

    private static double positive(final String name, final String text, final double max) throws ClientException {
        try {
            final double value = Double.parseDouble(text);
            if (value > 0 && value <= max) {
                return value;
            }
        } catch (final NumberFormatException e) {
            // It gets the error below.
        }
        throw new ClientException(name + " is " + text + ", and must be a number above 0 and up to " + max);
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
            final Supplier<ClusteredService> service,
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
        endWith(cluster.parent());
        final Runnable ended = () -> {
            byItself.set(told.getCount() > 0);
            told.countDown();
        };
        try {
            final Member member = start(cluster, number, directory, service, ended, err);
            out.println("{\"member\":" + number + ",\"process\":" + ProcessHandle.current().pid() + "}");
            told.await();
            member.close();
        } finally {
            closed.countDown();
        }
        if (byItself.get()) {
            err.println("java-cluster: member " + number + " has ended: see the lines above, or ClusterTool did it");
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
            final Supplier<ClusteredService> service,
            final Runnable ended,
            final PrintStream err)
            throws InterruptedException {
        final Path memory = memory(cluster.members().get(number));
        final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS_MAX);
        while (true) {
            try {
                return new Member(
                        cluster, number, directory, memory, service.get(), ended, error -> report(number, error, err));
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
