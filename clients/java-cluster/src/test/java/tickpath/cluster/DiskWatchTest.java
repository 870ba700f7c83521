package tickpath.cluster;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class DiskWatchTest {
    private static final long TIMEOUT_MS = 20;

    @Test
    void aLeaderEndsWhoseDiskTakesNothingAndNoOtherMember() throws InterruptedException {
        final AtomicBoolean leads = new AtomicBoolean(true);
        final CountDownLatch ended = new CountDownLatch(1);
        final DiskWatch watch = new DiskWatch(TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MS), leads::get, ended::countDown);
        watch.start();
        assertFalse(ended.await(5 * TIMEOUT_MS, TimeUnit.MILLISECONDS), "the disk was given nothing");
        leads.set(false);
        watch.given();
        assertFalse(ended.await(5 * TIMEOUT_MS, TimeUnit.MILLISECONDS), "it does not lead");
        watch.taken();
        leads.set(true);
        assertFalse(ended.await(5 * TIMEOUT_MS, TimeUnit.MILLISECONDS), "the disk has all");
        watch.given();
        assertTrue(ended.await(1, TimeUnit.MINUTES));
    }
}
