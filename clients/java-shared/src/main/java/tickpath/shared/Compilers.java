package tickpath.shared;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;

/** The virtual machine's just-in-time compilers. */
public final class Compilers {
    /** Compilers that finish nothing for this long are idle. */
    private static final long IDLE_MILLIS = 300;

    private static final long WAIT_SECONDS_MAX = 5;

    private Compilers() {}

    /**
     * Waits until the compilers are idle. They have a queue, and during the run perhaps no core of
     * their own.
     */
    public static void awaitIdle() throws InterruptedException {
        final CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
        final long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS_MAX);
        if (compilers == null) {
            return;
        }
        long before = -1;
        long spentMillis = compilers.getTotalCompilationTime();
        while (spentMillis != before && System.nanoTime() - deadlineNs < 0) {
            TimeUnit.MILLISECONDS.sleep(IDLE_MILLIS);
            before = spentMillis;
            spentMillis = compilers.getTotalCompilationTime();
        }
    }
}
