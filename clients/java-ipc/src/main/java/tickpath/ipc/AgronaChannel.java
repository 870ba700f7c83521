package tickpath.ipc;

import org.agrona.BitUtil;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.OneToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RecordDescriptor;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;

/**
 * Agrona's OneToOneRingBuffer: claim, copy, commit. Its capacity is in bytes and a power of two,
 * so it holds at least as many messages as the plan has slots.
 */
final class AgronaChannel implements Channel {
    /** Agrona accepts any positive number. */
    private static final int MESSAGE_TYPE = 1;

    /** A message may take up to an eighth of the ring. */
    private static final int MESSAGES_MIN = 8;

    private final OneToOneRingBuffer ring;
    private final Consumer consumer;

    AgronaChannel(final Plan plan, final Consumer consumer) {
        this.consumer = consumer;
        final int recordBytes =
                BitUtil.align(plan.messageBytes() + RecordDescriptor.HEADER_LENGTH, RecordDescriptor.ALIGNMENT);
        final int capacity = BitUtil.findNextPositivePowerOfTwo(recordBytes * Math.max(plan.slots(), MESSAGES_MIN));
        ring = new OneToOneRingBuffer(Memory.allocate(capacity + RingBufferDescriptor.TRAILER_LENGTH));
    }

    @Override
    public boolean send(final UnsafeBuffer message) {
        final int length = message.capacity();
        final int offset = ring.tryClaim(MESSAGE_TYPE, length);
        if (offset < 0) {
            return false;
        }
        ring.buffer().putBytes(offset, message, 0, length);
        ring.commit(offset);
        return true;
    }

    @Override
    public void receive() {
        final MessageHandler onMessage = (type, buffer, offset, length) -> consumer.accept(buffer, offset);
        while (!consumer.isOver()) {
            if (ring.read(onMessage) == 0) {
                Thread.onSpinWait();
            }
        }
    }

    @Override
    public void close() {}
}
