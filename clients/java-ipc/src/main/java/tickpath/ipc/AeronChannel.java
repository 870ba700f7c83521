package tickpath.ipc;

import io.aeron.Aeron;
import io.aeron.CommonContext;
import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.Configuration;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.BufferClaim;
import io.aeron.logbuffer.FragmentHandler;
import io.aeron.logbuffer.FrameDescriptor;
import io.aeron.logbuffer.LogBufferDescriptor;
import io.aeron.protocol.DataHeaderFlyweight;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.agrona.BitUtil;
import org.agrona.CloseHelper;
import org.agrona.concurrent.AgentInvoker;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;
import tickpath.shared.ClientException;

/**
 * Aeron IPC: an exclusive publication with {@code tryClaim}, an image polled without going through
 * the subscription, an embedded media driver.
 *
 * <p>The driver works during the run: its conductor zeroes consumed frames and advances the
 * publisher's limit. If a core is free of measured threads, a thread there does that, and parks for
 * at most 100 us in between. Otherwise such a thread would preempt a measured one for some 10 us
 * each time; so the consuming thread does the work, as Aeron recommends for machines with few cores
 * ({@code ThreadingMode.INVOKER}): after an eighth of the window, and when there is nothing to
 * read.
 */
final class AeronChannel implements Channel {
    private static final int STREAM = 1001;

    /** The value in Aeron's samples. */
    private static final int FRAGMENTS_PER_POLL = 10;

    /**
     * The window holds at least this time of messages at the plan's rate, because the thread of the
     * conductor may be parked.
     */
    private static final double WINDOW_SECONDS_MIN = 0.002;

    private static final int WINDOW_BYTES_BY_RATE_MAX = 1 << 25;

    /**
     * The driver advances the limit when this part of the window is consumed ({@code
     * IpcPublication.tripGain}).
     */
    private static final int LIMIT_STEPS = 8;

    /**
     * After this many empty polls, some 10 ms, the conductors are called in any case: they have
     * timers.
     */
    private static final int EMPTY_POLLS_MAX = 1 << 20;

    private static final long CONDUCTOR_PARK_NS_MIN = 1_000;
    private static final long CONDUCTOR_PARK_NS_MAX = 100_000;

    /**
     * Nothing calls the conductors between set-up and run. The driver must not take the client for
     * dead in that time.
     */
    private static final long LIVENESS_MINUTES = 60;

    private static final long CONNECT_SECONDS_MAX = 10;

    private final Consumer consumer;
    private final int windowBytes;
    private final MediaDriver driver;
    private final Aeron aeron;
    private final ExclusivePublication publication;
    private final Image image;

    /**
     * Changes with each message, so the producing thread creates it: its memory is then among that
     * thread's objects only.
     */
    private BufferClaim claim;

    AeronChannel(final Plan plan, final Consumer consumer, final Path directory, final boolean spareCore) throws ClientException {
        this.consumer = consumer;
        final int frameBytes = BitUtil.align(
                plan.messageBytes() + DataHeaderFlyweight.HEADER_LENGTH, FrameDescriptor.FRAME_ALIGNMENT);
        windowBytes = windowBytes(plan, frameBytes, spareCore);
        driver = MediaDriver.launch(driver(directory, spareCore, frameBytes));
        try {
            aeron = Aeron.connect(client(directory));
            final Subscription subscription = aeron.addSubscription(CommonContext.IPC_CHANNEL, STREAM);
            publication = aeron.addExclusivePublication(CommonContext.IPC_CHANNEL, STREAM);
            image = firstImage(subscription);
        } catch (final RuntimeException | ClientException e) {
            driver.close();
            throw e;
        }
    }

    /**
     * A power of two: large enough for the slots and for a conductor that is late, otherwise small,
     * to stay in a cache.
     */
    private static int windowBytes(final Plan plan, final int frameBytes, final boolean spareCore) {
        // At most half of Aeron's longest term, because Plan limits the bytes of all slots.
        final double slots = (double) frameBytes * Math.max(plan.slots(), LIMIT_STEPS);
        final double late = spareCore ? plan.ratePerSecond() * WINDOW_SECONDS_MIN * frameBytes : 0;
        final double bytes = Math.max(slots, Math.min(late, WINDOW_BYTES_BY_RATE_MAX));
        return BitUtil.findNextPositivePowerOfTwo((int) Math.max(bytes, LogBufferDescriptor.TERM_MIN_LENGTH / 2));
    }

    private MediaDriver.Context driver(final Path directory, final boolean spareCore, final int frameBytes) {
        final long livenessNs = TimeUnit.MINUTES.toNanos(LIVENESS_MINUTES);
        return new MediaDriver.Context()
                .aeronDirectoryName(directory.resolve("aeron").toString())
                .dirDeleteOnShutdown(true)
                .threadingMode(spareCore ? ThreadingMode.SHARED : ThreadingMode.INVOKER)
                .sharedIdleStrategy(new BackoffIdleStrategy(10, 20, CONDUCTOR_PARK_NS_MIN, CONDUCTOR_PARK_NS_MAX))
                .clientLivenessTimeoutNs(livenessNs)
                .publicationUnblockTimeoutNs(2 * livenessNs)
                .ipcMtuLength(Math.max(frameBytes, Configuration.ipcMtuLength()))
                .ipcTermBufferLength(2 * windowBytes)
                .termBufferSparseFile(false);
    }

    private Aeron.Context client(final Path directory) {
        final AgentInvoker invoker = driver.sharedAgentInvoker();
        return new Aeron.Context()
                .aeronDirectoryName(directory.resolve("aeron").toString())
                .driverTimeoutMs(TimeUnit.MINUTES.toMillis(LIVENESS_MINUTES))
                .preTouchMappedMemory(true)
                .useConductorAgentInvoker(invoker != null)
                .driverAgentInvoker(invoker);
    }

    private Image firstImage(final Subscription subscription) throws ClientException {
        final long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(CONNECT_SECONDS_MAX);
        while (!publication.isConnected() || subscription.hasNoImages()) {
            if (System.nanoTime() - deadlineNs > 0) {
                throw new ClientException("Aeron did not connect a publication with its subscription within " + CONNECT_SECONDS_MAX + " s");
            }
            conduct();
            Thread.yield();
        }
        return subscription.imageAtIndex(0);
    }

    @Override
    public boolean send(final UnsafeBuffer message) {
        if (claim == null) {
            claim = new BufferClaim();
        }
        final int length = message.capacity();
        long position = publication.tryClaim(length, claim);
        while (position == Publication.ADMIN_ACTION) {
            // The end of a term: the publication has moved to the next, which has space.
            position = publication.tryClaim(length, claim);
        }
        if (position == Publication.BACK_PRESSURED) {
            return false;
        }
        if (position < 0) {
            throw new IllegalStateException("Aeron rejects a message: " + Publication.errorString(position));
        }
        claim.putBytes(message, 0, length);
        claim.commit();
        return true;
    }

    @Override
    public void receive() {
        final FragmentHandler onFragment = (buffer, offset, length, header) -> consumer.accept(buffer, offset);
        if (driver.sharedAgentInvoker() == null) {
            while (!consumer.isOver()) {
                if (image.poll(onFragment, FRAGMENTS_PER_POLL) == 0) {
                    Thread.onSpinWait();
                }
            }
        } else {
            receiveAndConduct(onFragment);
        }
    }

    private void receiveAndConduct(final FragmentHandler onFragment) {
        final int stepBytes = windowBytes / LIMIT_STEPS;
        long conductedAt = image.position();
        int emptyPolls = 0;
        while (!consumer.isOver()) {
            final boolean idle = image.poll(onFragment, FRAGMENTS_PER_POLL) == 0;
            if (idle) {
                Thread.onSpinWait();
                emptyPolls++;
            }
            final long behindBytes = image.position() - conductedAt;
            if (idle && behindBytes >= stepBytes || behindBytes >= windowBytes / 2 || emptyPolls >= EMPTY_POLLS_MAX) {
                conduct();
                conductedAt = image.position();
                emptyPolls = 0;
            }
        }
    }

    /** Does the work of the driver and of the client if they have no threads. */
    private void conduct() {
        if (driver.sharedAgentInvoker() != null) {
            driver.sharedAgentInvoker().invoke();
            aeron.conductorAgentInvoker().invoke();
        }
    }

    @Override
    public void close() {
        CloseHelper.closeAll(aeron, driver);
    }
}
