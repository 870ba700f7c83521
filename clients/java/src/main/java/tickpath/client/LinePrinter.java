package tickpath.client;

import java.io.PrintStream;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Prints lines on a thread of its own, so that a reader that stalls delays no histogram. It drops a
 * line if too many wait.
 */
final class LinePrinter {
    private static final int LINES_WAITING_MAX = 8;
    private static final long LAST_LINES_SECONDS_MAX = 1;

    private final PrintStream out;
    private final ThreadPoolExecutor printer = new ThreadPoolExecutor(
            1, 1, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(LINES_WAITING_MAX), body -> {
                final Thread thread = new Thread(body, "progress");
                thread.setDaemon(true);
                return thread;
            }, new ThreadPoolExecutor.DiscardPolicy());

    LinePrinter(final PrintStream out) {
        this.out = out;
    }

    void print(final String line) {
        printer.execute(() -> {
            out.println(line);
            out.flush();
        });
    }

    /** Waits until the lines are printed, for at most a second. */
    void close() throws InterruptedException {
        printer.shutdown();
        if (!printer.awaitTermination(LAST_LINES_SECONDS_MAX, TimeUnit.SECONDS)) {
            printer.shutdownNow();
        }
    }
}
