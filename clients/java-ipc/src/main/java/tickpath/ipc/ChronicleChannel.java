package tickpath.ipc;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.MappedBytesStore;
import net.openhft.chronicle.bytes.MappedFile;
import net.openhft.chronicle.bytes.PointerBytesStore;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.core.io.ReferenceOwner;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueue;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueStore;
import net.openhft.chronicle.wire.DocumentContext;
import org.agrona.BitUtil;
import org.agrona.concurrent.UnsafeBuffer;
import tickpath.shared.ClientException;

/**
 * Chronicle Queue: an appender and a tailer of one queue, raw bytes in documents.
 *
 * <p>Its pretoucher is now part of the Enterprise edition. To keep page faults out of the
 * measurement, all blocks of the run are mapped and touched before it, through the mapping that
 * both threads use.
 */
final class ChronicleChannel implements Channel {
    /** Header and padding of a document. */
    private static final int DOCUMENT_BYTES = 8;

    /**
     * For the queue's header and the first pages of its index. The index grows by 8 bytes for 256
     * messages.
     */
    private static final long INDEX_BYTES = 1 << 20;

    static {
        // Disables usage data, banners and a thread that watches disks. Chronicle's classes read
        // these properties when they are loaded.
        System.setProperty("chronicle.analytics.disable", "true");
        System.setProperty("chronicle.announcer.disable", "true");
        System.setProperty("chronicle.disk.monitor.disable", "true");
    }

    private final Consumer consumer;
    private final int messageBytes;
    private final SingleChronicleQueue queue;
    private final SingleChronicleQueueStore store;
    private final List<MappedBytesStore> blocks = new ArrayList<>();

    /**
     * The producing thread creates the objects that change with each message: their memory is then
     * among that thread's objects only.
     */
    private ExcerptAppender appender;

    private PointerBytesStore outgoing;

    ChronicleChannel(final Plan plan, final Consumer consumer, final Path directory) throws ClientException, IOException {
        this.consumer = consumer;
        messageBytes = plan.messageBytes();
        final long documentBytes = BitUtil.align(messageBytes, Long.BYTES) + DOCUMENT_BYTES;
        final long bytes = INDEX_BYTES + plan.messagesInAll() * documentBytes;
        final long blockCount = (bytes + plan.blockBytes() - 1) / plan.blockBytes();
        requireSpace(directory, blockCount * plan.blockBytes());
        queue = SingleChronicleQueueBuilder.single(directory.resolve("queue").toFile())
                .blockSize(plan.blockBytes())
                .build();
        store = queue.storeForCycle(queue.cycle(), 0, true, null);
        for (long block = 0; block < blockCount; block++) {
            blocks.add(touched(store.bytes().mappedFile(), block * plan.blockBytes(), plan.blockBytes()));
        }
    }

    private static void requireSpace(final Path directory, final long bytes) throws ClientException, IOException {
        final long usableBytes = Files.getFileStore(directory).getUsableSpace();
        if (bytes > usableBytes) {
            throw new ClientException("Chronicle's queue needs " + bytes + " bytes, and " + directory + " has " + usableBytes
                    + ": lower `messages`, or choose another `directory`");
        }
    }

    /**
     * Maps a block and touches its pages with a swap that changes nothing, so that no later access
     * faults.
     */
    private static MappedBytesStore touched(final MappedFile file, final long start, final long bytes) throws IOException {
        final MappedBytesStore block = file.acquireByteStore(ReferenceOwner.TMP, start);
        for (long position = start; position < start + bytes; position += OS.pageSize()) {
            block.compareAndSwapLong(position, 0, 0);
        }
        return block;
    }

    @Override
    public boolean send(final UnsafeBuffer message) {
        if (appender == null) {
            appender = queue.createAppender();
            outgoing = BytesStore.nativePointer();
        }
        outgoing.set(message.addressOffset(), messageBytes);
        appender.writeBytes(outgoing);
        return true;
    }

    @Override
    public void receive() {
        final UnsafeBuffer incoming = new UnsafeBuffer(0, 0);
        try (ExcerptTailer tailer = queue.createTailer()) {
            while (!consumer.isOver()) {
                try (DocumentContext document = tailer.readingDocument()) {
                    if (document.isPresent()) {
                        final Bytes<?> bytes = document.wire().bytes();
                        incoming.wrap(bytes.addressForRead(bytes.readPosition()), messageBytes);
                        consumer.accept(incoming, 0);
                    } else {
                        Thread.onSpinWait();
                    }
                }
            }
        }
    }

    /** Closes the queue and its appender. */
    @Override
    public void close() {
        blocks.forEach(block -> block.release(ReferenceOwner.TMP));
        queue.closeStore(store);
        queue.close();
    }
}
