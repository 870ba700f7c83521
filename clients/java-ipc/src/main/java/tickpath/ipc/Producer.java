package tickpath.ipc;

import java.nio.ByteOrder;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The load, on the producing thread: each message is sent when it is due, whatever became of those
 * before.
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
     * When message 0 is due, and when to give up; of {@link System#nanoTime}. Before the producing
     * thread begins.
     */
    void startAt(final long startNs, final long deadlineNs) {
        this.startNs = startNs;
        this.deadlineNs = deadlineNs;
    }

    /** Warm-up and measured part, one schedule. */
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

    /** The structure is full: tries again at once, stamped again, until there is room. */
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

    /** From any thread. */
    void stop() {
        stopped = true;
    }

    /** Counts of the measured part, valid after the producing thread has ended. */
    int sent() {
        return Math.max(0, sent - warmUpMessages);
    }

    /**
     * Messages of the measured part that found the structure full: once each, however often they
     * were tried.
     */
    int heldBack() {
        return heldBack;
    }
}
