package tickpath.client;

import com.google.gson.JsonObject;
import io.netty.util.concurrent.FastThreadLocalThread;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.netty.util.internal.logging.JdkLoggerFactory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import tickpath.shared.ClientException;
import tickpath.shared.ExitStatus;
import tickpath.shared.Placement;

/** The client in Java. clients/CONTRACT.md has its arguments, input and output. */
public final class Main {

    private Main() {}

    /**
     * Runs one plan and ends the process with an {@link ExitStatus}.
     *
     * @param arguments {@code [--transport epoll|io_uring|nio] [--no-rehearsal] --plan -}
     */
    public static void main(final String[] arguments) {
        final Stop stop = new Stop();
        Signals.set(stop);
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.exit(run(arguments, in, System.out, System.err, stop));
    }

    static int run(final String[] arguments, final BufferedReader in, final PrintStream out, final PrintStream err,
            final Stop stop) {
        InternalLoggerFactory.setDefaultFactory(JdkLoggerFactory.INSTANCE);
        try {
            final Options options = Options.parse(arguments);
            final String line = in.readLine();
            if (line == null) {
                throw new ClientException("stdin was closed before the plan: it is one line of JSON there");
            }
            final Plan plan = Plan.parse(line);
            final Transport transport = options.transport(plan);
            transport.require();
            final JsonObject result = onThread(plan, transport, options.rehearses(), stop, out);
            out.println(result);
            out.flush();
            return result.get("complete").getAsBoolean() ? ExitStatus.COMPLETE : ExitStatus.INCOMPLETE;
        } catch (final ClientException e) {
            err.println("java-client: " + e.getMessage());
        } catch (final IOException e) {
            err.println("java-client: a file can't be read or written: " + e);
        } catch (final InterruptedException e) {
            err.println("java-client: interrupted");
        } catch (final RuntimeException | Error e) {
            err.println("java-client: failed: " + e);
            e.printStackTrace(err);
        }
        return ExitStatus.ERROR;
    }

    /**
     * The command line.
     *
     * @param named the transport of {@code --transport}; null: the plan's backend decides
     */
    record Options(Transport named, boolean rehearses) {
        static Options parse(final String[] arguments) throws ClientException {
            Transport named = null;
            boolean rehearses = true;
            boolean planned = false;
            for (int index = 0; index < arguments.length; index++) {
                final String next = index + 1 < arguments.length ? arguments[index + 1] : "";
                switch (arguments[index]) {
                    case "--transport" -> {
                        named = Transport.parse(next);
                        index++;
                    }
                    case "--no-rehearsal" -> rehearses = false;
                    case "--plan" -> {
                        planned = next.equals("-");
                        index++;
                    }
                    default -> throw new ClientException("unknown argument \"" + arguments[index] + "\"");
                }
            }
            if (!planned) {
                throw new ClientException("call it with --plan -, and the plan on stdin; before that, --transport epoll, io_uring or nio");
            }
            return new Options(named, rehearses);
        }

        /**
         * The transport for this plan. A record that names io_uring must not be of other sockets.
         */
        Transport transport(final Plan plan) throws ClientException {
            if (plan.uring() && named != null && named != Transport.IO_URING) {
                throw new ClientException("the plan's `backend` is io_uring's and the command has --transport " + named.option()
                        + ": leave out --transport, or set the backend to spin or block");
            }
            if (named != null) {
                return named;
            }
            return plan.uring() ? Transport.IO_URING : Transport.EPOLL;
        }
    }

    /** The measuring thread: Netty keeps buffers for threads of this class. */
    private static JsonObject onThread(final Plan plan, final Transport transport, final boolean rehearses, final Stop stop,
            final PrintStream out) throws ClientException, IOException, InterruptedException {
        final boolean hasOtherCores = Placement.leaveCores(List.of(plan.core()));
        ThreadStarter.prepare();
        final AtomicReference<JsonObject> result = new AtomicReference<>();
        final AtomicReference<Throwable> failure = new AtomicReference<>();
        final LinePrinter printer = new LinePrinter(out);
        final Consumer<String> lines = hasOtherCores ? printer::print : null;
        final Thread trading = new FastThreadLocalThread(() -> {
            try {
                Placement.pin(Placement.threadId(), plan.core());
                final Clock clock = new Clock();
                if (rehearses) {
                    Rehearsal.of(plan, transport, clock, stop);
                }
                result.set(new Run(plan, transport, clock, stop, lines).go());
            } catch (final Throwable e) {
                failure.set(e);
            }
        }, "trading");
        trading.start();
        trading.join();
        printer.close();
        final Throwable thrown = failure.get();
        if (thrown instanceof ClientException e) {
            throw e;
        } else if (thrown instanceof IOException e) {
            throw e;
        } else if (thrown != null) {
            throw new IllegalStateException(thrown);
        }
        return result.get();
    }
}
