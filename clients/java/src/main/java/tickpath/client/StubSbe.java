package tickpath.client;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;

/** One connection of {@link StubExchange} in SBE: it books every order and cancels it. */
final class StubSbe {
    /** The plan's instrument is the second, so that its number counts. */
    private static final int INSTRUMENTS = 2;

    private final String instrument;
    private final AtomicLong orders;
    private final AtomicLong cancels;
    private long sequence;

    StubSbe(final String instrument, final AtomicLong orders, final AtomicLong cancels) {
        this.instrument = instrument;
        this.orders = orders;
        this.cancels = cancels;
    }

    /** Serves until the client closes, or makes a mistake. */
    void serve(final DataInputStream in, final OutputStream out) throws IOException {
        while (true) {
            final int length = in.readInt();
            final byte[] frame = new byte[length];
            in.readFully(frame, Integer.BYTES, length - Integer.BYTES);
            final int template = SbeLayout.getShort(frame, SbeLayout.FRAME_HEAD_BYTES + 2);
            if (template == SbeLayout.LOGON) {
                accept(out);
            } else if (template == SbeLayout.NEW_ORDER || template == SbeLayout.CANCEL_ORDER) {
                out.write(isRight(frame) ? reply(frame, template == SbeLayout.NEW_ORDER) : terminate());
            }
        }
    }

    private void accept(final OutputStream out) throws IOException {
        final byte[] accepted = SbeLayout.frame(SbeLayout.LOGON_ACCEPTED, SbeLayout.LOGON_ACCEPTED_BYTES, 0);
        SbeLayout.putShort(accepted, SbeLayout.HEAD_BYTES + SbeLayout.LOGON_ACCEPTED_INSTRUMENTS, INSTRUMENTS);
        out.write(accepted);
        for (int number = 0; number < INSTRUMENTS; number++) {
            final byte[] one = SbeLayout.frame(SbeLayout.INSTRUMENT, SbeLayout.INSTRUMENT_BYTES, 0);
            SbeLayout.putShort(one, SbeLayout.HEAD_BYTES, number);
            final byte[] code = (number == 0 ? "OTHER" : instrument).getBytes(StandardCharsets.UTF_8);
            System.arraycopy(code, 0, one, SbeLayout.HEAD_BYTES + SbeLayout.INSTRUMENT_CODE, code.length);
            out.write(one);
        }
    }

    /** Whether the number is the next, and the instrument the second. */
    private boolean isRight(final byte[] frame) {
        sequence++;
        return SbeLayout.getShort(frame, SbeLayout.HEAD_BYTES) == (int) (sequence & 0xffff)
                && SbeLayout.getShort(frame, SbeLayout.HEAD_BYTES + SbeLayout.CANCEL_ORDER_INSTRUMENT) == 1;
    }

    private static byte[] terminate() {
        return SbeLayout.frame(SbeLayout.TERMINATE, 0, "a number is wrong".getBytes(StandardCharsets.UTF_8));
    }

    private byte[] reply(final byte[] frame, final boolean isOrder) {
        (isOrder ? orders : cancels).incrementAndGet();
        final byte[] reply = isOrder
                ? SbeLayout.frame(SbeLayout.BOOKED, SbeLayout.BOOKED_BYTES, 0)
                : SbeLayout.frame(SbeLayout.DONE, SbeLayout.DONE_BYTES, 0);
        System.arraycopy(frame, SbeLayout.HEAD_BYTES + SbeLayout.REQUEST_CLIENT_ID, reply,
                SbeLayout.HEAD_BYTES + (isOrder ? SbeLayout.BOOKED_CLIENT_ID : SbeLayout.DONE_CLIENT_ID), SbeLayout.CLIENT_ID_BYTES);
        return reply;
    }
}
