package tickpath.ipc;

import com.lmax.disruptor.BatchEventProcessor;
import com.lmax.disruptor.BatchEventProcessorBuilder;
import com.lmax.disruptor.BusySpinWaitStrategy;
import com.lmax.disruptor.EventFactory;
import com.lmax.disruptor.EventTranslatorOneArg;
import com.lmax.disruptor.RingBuffer;
import org.agrona.BitUtil;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The LMAX Disruptor: one producer, busy spinning, and a BatchEventProcessor that the consuming
 * thread runs. Its events are preallocated in one contiguous block of memory.
 */
final class DisruptorChannel implements Channel {
    private static final int LINE_BYTES = 64;

    private static final EventTranslatorOneArg<UnsafeBuffer, UnsafeBuffer> COPY =
            (event, sequence, message) -> event.putBytes(0, message, 0, message.capacity());

    private final RingBuffer<UnsafeBuffer> ring;
    private final BatchEventProcessor<UnsafeBuffer> processor;

    DisruptorChannel(final Plan plan, final Consumer consumer) {
        ring = RingBuffer.createSingleProducer(events(plan), plan.slots(), new BusySpinWaitStrategy());
        processor = new BatchEventProcessorBuilder().build(ring, ring.newBarrier(), (event, sequence, endOfBatch) -> {
            consumer.accept(event, 0);
            if (consumer.isOver()) {
                interrupt();
            }
        });
        ring.addGatingSequences(processor.getSequence());
    }

    private static EventFactory<UnsafeBuffer> events(final Plan plan) {
        final int strideBytes = BitUtil.align(plan.messageBytes(), LINE_BYTES);
        final UnsafeBuffer all = Memory.allocate(strideBytes * plan.slots());
        final int[] next = {0};
        return () -> {
            final int offset = next[0];
            next[0] += strideBytes;
            return new UnsafeBuffer(all, offset, plan.messageBytes());
        };
    }

    @Override
    public boolean send(final UnsafeBuffer message) {
        return ring.tryPublishEvent(COPY, message);
    }

    @Override
    public void receive() {
        processor.run();
    }

    @Override
    public void interrupt() {
        processor.halt();
    }

    @Override
    public void close() {}
}
