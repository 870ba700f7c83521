package tickpath.client;

import java.util.Arrays;
import tickpath.shared.ClientException;

/** JSON in WebSocket frames. */
final class JsonOrders implements Dialect {
    private final Plan plan;
    private final Forms forms;
    private final FrameReader[] readers;
    private final SplitMix64 masks;
    private final Reply reply = new Reply();

    JsonOrders(final Plan plan, final int nonce) {
        this.plan = plan;
        forms = new Forms(plan.load(), nonce);
        readers = new FrameReader[plan.load().connections()];
        Arrays.setAll(readers, lane -> new FrameReader());
        masks = new SplitMix64(nonce);
    }

    @Override
    public StreamReader reader(final int lane) {
        return readers[lane];
    }

    @Override
    public void logOn(final LogOn steps, final Lane lane) throws LogOn.Failure, ClientException {
        new JsonLogOn(steps, lane, readers[lane.index], plan, forms).go();
    }

    @Override
    public int encode(final byte[] out, final boolean isOrder, final long number, final int account) {
        final Form form = isOrder ? forms.order(account) : forms.cancel(account);
        form.encode(out, number, (int) masks.bits());
        return form.bytes();
    }

    @Override
    public void received(final Lane lane, final Desk desk) {
        final FrameReader reader = readers[lane.index];
        int opcode = reader.next();
        while (opcode >= 0 && !desk.isBroken()) {
            switch (opcode) {
                case WebSocket.TEXT -> text(lane, reader, desk);
                case WebSocket.PING -> desk.answer(lane, pong(reader));
                case WebSocket.PONG -> { }
                case WebSocket.CLOSE -> desk.fail(lane, "the exchange closed it: " + reader.closeReason());
                default -> desk.unexpected("a binary message");
            }
            opcode = reader.next();
        }
        if (opcode == StreamReader.BROKEN) {
            desk.fail(lane, reader.complaint());
        }
    }

    private void text(final Lane lane, final FrameReader reader, final Desk desk) {
        final String wrong = reply.read(reader.payload(), reader.payloadAt(), reader.payloadEnd());
        if (wrong != null) {
            desk.fail(lane, wrong);
            return;
        }
        switch (reply.type()) {
            case BOOKED, CANCELLED, REJECTED -> report(lane, reader, desk);
            case AUTHENTICATED, SUBSCRIPTIONS -> { }
            default -> desk.unexpected(reader.text());
        }
    }

    private void report(final Lane lane, final FrameReader reader, final Desk desk) {
        final long number = reply.number(forms.ids());
        if (number == ClientIds.FOREIGN) {
            desk.unexpected("a reply about an order that is not ours: " + reader.text());
            return;
        }
        if (reply.type() == Reply.Type.REJECTED && desk.complaint() == null) {
            desk.complain("rejected: " + reader.text());
        }
        desk.report(lane, reader, reply.type(), number);
    }

    private byte[] pong(final FrameReader reader) {
        final byte[] payload = Arrays.copyOfRange(reader.payload(), reader.payloadAt(), reader.payloadEnd());
        return WebSocket.clientFrame(WebSocket.PONG, payload, (int) masks.bits());
    }
}
