package tickpath.client;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Starts threads for the measuring thread. A new thread inherits the cores of the one that starts
 * it: those of a pinned thread would run on the measured core.
 */
final class Elsewhere {
    private static final ThreadPoolExecutor STARTER =
            new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), body -> {
                final Thread thread = new Thread(body, "starter");
                thread.setDaemon(true);
                return thread;
            });

    private Elsewhere() {}

    /** Call it before the measuring thread is pinned, on a thread that is not. */
    static void prepare() {
        STARTER.prestartAllCoreThreads();
    }

    static void start(final Thread thread) {
        thread.setDaemon(true);
        try {
            STARTER.submit(thread::start).get();
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (final ExecutionException e) {
            throw new IllegalStateException("a thread can't be started", e);
        }
    }
}
