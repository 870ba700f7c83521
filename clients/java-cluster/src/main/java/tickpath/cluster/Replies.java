package tickpath.cluster;

import java.nio.ByteOrder;
import org.agrona.DirectBuffer;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.MutableDirectBuffer;

/**
 * The replies that one gateway may still ask for. A command that comes again gets its reply again,
 * and is not executed again.
 */
final class Replies {
    private static final int MASK = Messages.WINDOW - 1;
    private static final ByteOrder LITTLE = ByteOrder.LITTLE_ENDIAN;

    /** Bytes of a saved window before its replies. */
    static final int SAVED_HEAD_BYTES = 24;

    private static final int SAVED_REPLY_HEAD_BYTES = 24;

    private final Reply[] slots = new Reply[Messages.WINDOW];
    private long last;
    private long done;

    /** The number of the gateway's last command. */
    long last() {
        return last;
    }

    /** How a command stands to those that were executed. */
    enum Arrival {
        /** The next one. */
        NEXT,
        /** It was executed, and its reply is here. */
        AGAIN,
        /** It was executed, and the gateway has its reply. */
        OLD,
        /** Commands before it are missing: the gateway sends them and it again. */
        EARLY,
        /** The gateway has not said for too long which replies it has. */
        FULL
    }

    /**
     * Judges a command.
     *
     * @param gatewayHas the gateway has all replies up to this number
     */
    Arrival arrives(final long number, final long gatewayHas) {
        done = Math.max(done, Math.min(gatewayHas, last));
        if (number <= done) {
            return Arrival.OLD;
        }
        if (number <= last) {
            return Arrival.AGAIN;
        }
        if (number > last + 1) {
            return Arrival.EARLY;
        }
        return number - done > Messages.WINDOW ? Arrival.FULL : Arrival.NEXT;
    }

    /** Keeps the reply to the command that is {@link Arrival#NEXT}. */
    Reply keep(final long sequence, final long timeNs, final int events, final DirectBuffer body, final int length) {
        last++;
        final int slot = (int) last & MASK;
        if (slots[slot] == null) {
            slots[slot] = new Reply();
        }
        return slots[slot].set(last, sequence, timeNs, events, body, 0, length);
    }

    /** The reply to a command that comes {@link Arrival#AGAIN}. */
    Reply get(final long number) {
        return slots[(int) number & MASK];
    }

    int savedBytes() {
        int bytes = SAVED_HEAD_BYTES;
        for (long number = done + 1; number <= last; number++) {
            bytes = Math.addExact(bytes, SAVED_REPLY_HEAD_BYTES + get(number).length);
        }
        return bytes;
    }

    /**
     * Writes the window after its gateway's number.
     *
     * @return where it ends
     */
    int save(final long gateway, final MutableDirectBuffer to, final int offset) {
        to.putLong(offset, gateway, LITTLE);
        to.putLong(offset + 8, last, LITTLE);
        to.putLong(offset + 16, done, LITTLE);
        int at = offset + SAVED_HEAD_BYTES;
        for (long number = done + 1; number <= last; number++) {
            final Reply reply = get(number);
            to.putLong(at, reply.sequence, LITTLE);
            to.putLong(at + 8, reply.timeNs, LITTLE);
            to.putInt(at + 16, reply.events, LITTLE);
            to.putInt(at + 20, reply.length, LITTLE);
            to.putBytes(at + SAVED_REPLY_HEAD_BYTES, reply.body, 0, reply.length);
            at += SAVED_REPLY_HEAD_BYTES + reply.length;
        }
        return at;
    }

    /**
     * Reads what {@link #save} wrote.
     *
     * @return where it ends
     */
    int restore(final DirectBuffer from, final int offset) {
        last = from.getLong(offset + 8, LITTLE);
        done = from.getLong(offset + 16, LITTLE);
        int at = offset + SAVED_HEAD_BYTES;
        for (long number = done + 1; number <= last; number++) {
            final int length = from.getInt(at + 20, LITTLE);
            slots[(int) number & MASK] = new Reply()
                    .set(
                            number,
                            from.getLong(at, LITTLE),
                            from.getLong(at + 8, LITTLE),
                            from.getInt(at + 16, LITTLE),
                            from,
                            at + SAVED_REPLY_HEAD_BYTES,
                            length);
            at += SAVED_REPLY_HEAD_BYTES + length;
        }
        return at;
    }

    /** A reply; its memory is used again once the gateway has it. */
    static final class Reply {
        private final ExpandableArrayBuffer body = new ExpandableArrayBuffer(NativeEngine.RECORD_BYTES);
        private long number;
        private long sequence;
        private long timeNs;
        private int events;
        private int length;

        private Reply set(
                final long newNumber,
                final long newSequence,
                final long newTimeNs,
                final int newEvents,
                final DirectBuffer from,
                final int offset,
                final int newLength) {
            number = newNumber;
            sequence = newSequence;
            timeNs = newTimeNs;
            events = newEvents;
            length = newLength;
            body.putBytes(0, from, offset, newLength);
            return this;
        }

        /** How many messages it takes. */
        int messages() {
            return Math.max(1, (events + Messages.EVENTS_PER_MESSAGE - 1) / Messages.EVENTS_PER_MESSAGE);
        }

        /**
         * Encodes one of its messages.
         *
         * @return its length
         */
        int encode(final int message, final long gateway, final MutableDirectBuffer to) {
            final int bytesPerMessage = Messages.EVENTS_PER_MESSAGE * NativeEngine.RECORD_BYTES;
            final int begin = message * bytesPerMessage;
            final int bytes = Math.min(length - begin, bytesPerMessage);
            to.putLong(Messages.GATEWAY, gateway, LITTLE);
            to.putLong(Messages.NUMBER, number, LITTLE);
            to.putLong(Messages.SEQUENCE, sequence, LITTLE);
            to.putLong(Messages.TIME, timeNs, LITTLE);
            to.putInt(Messages.EVENTS, events, LITTLE);
            to.putInt(Messages.EARLIER, message * Messages.EVENTS_PER_MESSAGE, LITTLE);
            to.putBytes(Messages.BODY, body, begin, bytes);
            return Messages.BODY + bytes;
        }
    }
}
