package tickpath.ipc;

import java.nio.ByteOrder;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The load, on the producing thread: it sends each message when it is due, even if earlier ones
 * have not arrived.
 */
final class Producer {
    private final Channel channel;
    private final Schedule schedule;
    private final int warmUpMessages;
    private final int messages;
    private final UnsafeBuffer message;
    private long startNs;
    private long deadlineNs;
    private int sent;
    private int heldBack;
    private volatile boolean stopped;

    Producer(final Plan plan, final Schedule schedule, final Channel channel) {
        this.channel = channel;
        this.schedule = schedule;
        warmUpMessages = plan.warmUpMessages();
        messages = plan.messagesInAll();
        message = Memory.allocate(plan.messageBytes());
        for (int offset = 0; offset < message.capacity(); offset++) {
            message.putByte(offset, (byte) offset);
        }
    }

    /**
     * Sets the time at which message 0 is due and the time to give up, by {@link System#nanoTime}.
     * Call it before the producing thread begins.
     */
    void startAt(final long startNs, final long deadlineNs) {
        this.startNs = startNs;
        this.deadlineNs = deadlineNs;
    }

    /** Sends warm-up and measured part, which are one schedule. */
    void run() {
        int index = 0;
        try {
            while (index < messages && sendWhenDue(index)) {
                index++;
            }
        } finally {
            sent = index;
        }
    }

    private boolean sendWhenDue(final int index) {
        final long dueNs = startNs + schedule.offsetNs(index);
        long nowNs = System.nanoTime();
        while (nowNs - dueNs < 0) {
            if (stopped) {
                return false;
            }
            nowNs = System.nanoTime();
        }
        return nowNs - deadlineNs < 0 && (send(index, nowNs) || sendHeldBack(index));
    }

    private boolean send(final int index, final long nowNs) {
        message.putLong(Consumer.INDEX_OFFSET, index, ByteOrder.LITTLE_ENDIAN);
        message.putLong(Consumer.SENT_OFFSET, nowNs, ByteOrder.LITTLE_ENDIAN);
        return channel.send(message);
    }

    /** Tries again at once, with a new stamp, until the structure has space. */
    private boolean sendHeldBack(final int index) {
        heldBack += index >= warmUpMessages ? 1 : 0;
        long nowNs = System.nanoTime();
        while (!stopped && nowNs - deadlineNs < 0) {
            if (send(index, nowNs)) {
                return true;
            }
            nowNs = System.nanoTime();
        }
        return false;
    }

    /** May be called from any thread. */
    void stop() {
        stopped = true;
    }

    /** Counts of the measured part, valid after the producing thread has ended. */
    int sent() {
        return Math.max(0, sent - warmUpMessages);
    }

    /**
     * Messages of the measured part for which the structure was full. Each counts once, even if it
     * was tried several times.
     */
    int heldBack() {
        return heldBack;
    }
}
