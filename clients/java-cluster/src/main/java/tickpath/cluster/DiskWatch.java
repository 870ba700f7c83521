package tickpath.cluster;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Looks whether a disk takes what it was given. A leader whose disk does not would hold up the
 * exchange for as long as that lasts: its consensus module goes on, so nobody calls an election.
 */
final class DiskWatch {
    /** Its own pause is none of the disk: what counts is how often it has looked. */
    private static final int LOOKS_PER_TIMEOUT = 10;

    private final long timeoutNs;
    private final BooleanSupplier leads;
    private final Runnable end;
    /** Writes that have begun, and writes that have ended; odd during one. */
    private volatile long steps;

    /**
     * A watch, which looks from {@link #start} on.
     *
     * @param timeoutNs for which it has taken nothing
     * @param leads whether this member leads
     * @param end called once, from a thread of its own
     */
    DiskWatch(final long timeoutNs, final BooleanSupplier leads, final Runnable end) {
        this.timeoutNs = timeoutNs;
        this.leads = leads;
        this.end = end;
    }

    void start() {
        final Thread thread = new Thread(this::look);
        thread.setName("disk-watch");
        thread.setDaemon(true);
        thread.start();
    }

    /** The disk is given something; for one thread. */
    void given() {
        steps = steps + 1;
    }

    /** The disk has all of it. */
    void taken() {
        steps = steps + 1;
    }

    private void look() {
        long before = 0;
        for (int looks = 0; looks <= LOOKS_PER_TIMEOUT; looks++) {
            final long now = steps;
            if (now != before || now % 2 == 0 || !leads.getAsBoolean()) {
                looks = 0;
            }
            before = now;
            LockSupport.parkNanos(timeoutNs / LOOKS_PER_TIMEOUT);
        }
        end.run();
    }
}
