package tickpath.client;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Starts threads off the measured core. A new thread inherits the cores of the thread that starts
 * it, so the measuring thread, which is pinned, can't start them itself.
 */
final class ThreadStarter {
    private static final ThreadPoolExecutor STARTER =
            new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), body -> {
                final Thread thread = new Thread(body, "starter");
                thread.setDaemon(true);
                return thread;
            });

    private ThreadStarter() {}

    /** Call this on a thread that is not pinned, before the measuring thread is. */
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
