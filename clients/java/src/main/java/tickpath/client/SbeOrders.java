package tickpath.client;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import tickpath.client.LogOn.Failure;
import tickpath.shared.ClientException;

/** SBE, as {@code docs/internals/sbe.md} defines it: one session for each connection. */
final class SbeOrders implements Dialect {
    private static final String SHORT = "a message is shorter than its fields";

    private final Plan.Load load;
    private final ClientIds ids;
    /** By connection, each of which has the account of the same number. */
    private final Session[] sessions;

    /** One connection's session. */
    private static final class Session {
        final SbeReader reader = new SbeReader();
        SbeForm order;
        SbeForm cancel;
        /** The last request's number. */
        long sent;
        /** Codes of the instruments by number. */
        final List<String> codes = new ArrayList<>();
        /** Number of instruments; -1 before the logon is accepted. */
        int instruments = -1;
    }

    SbeOrders(final Plan plan, final int nonce) {
        load = plan.load();
        ids = new ClientIds(nonce);
        sessions = new Session[load.connections()];
        Arrays.setAll(sessions, lane -> new Session());
    }

    @Override
    public StreamReader reader(final int lane) {
        return sessions[lane].reader;
    }

    @Override
    public void logOn(final LogOn steps, final Lane lane) throws Failure, ClientException {
        final Session session = sessions[lane.index];
        steps.send(lane, logon(Long.toString(load.firstToken() + lane.index)));
        final String[] wrong = new String[1];
        steps.turnUntil(lane, "the SBE logon", () -> {
            while (wrong[0] == null && session.codes.size() != session.instruments) {
                final int template = session.reader.next();
                if (template == StreamReader.NONE) {
                    return false;
                }
                wrong[0] = taken(session, template);
            }
            return true;
        });
        if (wrong[0] != null) {
            throw new Failure(wrong[0]);
        }
        final int instrument = session.codes.indexOf(load.instrument());
        if (instrument < 0) {
            throw new Failure("the exchange has no instrument " + load.instrument() + "; it has " + String.join(", ", session.codes));
        }
        session.order = SbeForm.order(load, ids.first(), instrument);
        session.cancel = SbeForm.cancel(ids.first(), instrument);
    }

    /** The first message of a connection: a new session, whose orders stay when it ends. */
    static byte[] logon(final String token) {
        return SbeLayout.frame(SbeLayout.LOGON, SbeLayout.LOGON_BYTES, token.getBytes(StandardCharsets.UTF_8));
    }

    /** A sign of life; {@code next} is the number of the next request. */
    static byte[] heartbeat(final long next) {
        final byte[] frame = SbeLayout.frame(SbeLayout.HEARTBEAT, SbeLayout.HEARTBEAT_BYTES, 0);
        SbeLayout.putLong(frame, SbeLayout.HEAD_BYTES, next);
        return frame;
    }

    /** Takes an answer to the logon. Returns an error message, or null. */
    private static String taken(final Session session, final int template) {
        final SbeReader reader = session.reader;
        switch (template) {
            case StreamReader.BROKEN:
                return reader.complaint();
            case SbeLayout.LOGON_ACCEPTED:
                if (!reader.has(SbeLayout.LOGON_ACCEPTED_BYTES)) {
                    return SHORT;
                }
                session.instruments = SbeLayout.getShort(reader.bytes(), reader.blockAt() + SbeLayout.LOGON_ACCEPTED_INSTRUMENTS);
                return null;
            case SbeLayout.INSTRUMENT:
                if (!reader.has(SbeLayout.INSTRUMENT_BYTES)) {
                    return SHORT;
                }
                session.codes.add(reader.padded(reader.blockAt() + SbeLayout.INSTRUMENT_CODE, SbeLayout.CODE_BYTES));
                return null;
            case SbeLayout.TERMINATE:
                return "the exchange answers the logon with: " + reason(reader);
            default:
                return "a message of template " + template + " answers the logon";
        }
    }

    @Override
    public int encode(final byte[] out, final boolean isOrder, final long number, final int account) {
        final Session session = sessions[account];
        final SbeForm form = isOrder ? session.order : session.cancel;
        form.encode(out, ++session.sent, number);
        return form.bytes();
    }

    @Override
    public void received(final Lane lane, final Desk desk) {
        final Session session = sessions[lane.index];
        final SbeReader reader = session.reader;
        int template = reader.next();
        while (template >= 0 && !desk.isBroken()) {
            switch (template) {
                case SbeLayout.BOOKED -> {
                    final boolean isWhole = reader.has(SbeLayout.BOOKED_BYTES);
                    report(lane, reader, desk, Reply.Type.BOOKED, isWhole, SbeLayout.BOOKED_CLIENT_ID);
                }
                case SbeLayout.DONE -> done(lane, reader, desk);
                case SbeLayout.REJECTED -> rejected(lane, reader, desk);
                case SbeLayout.HEARTBEAT -> desk.answer(lane, heartbeat(session.sent + 1));
                case SbeLayout.TERMINATE -> desk.fail(lane, "the exchange ended the connection: " + reason(reader));
                default -> desk.unexpected("a message of an unexpected template: " + template);
            }
            template = reader.next();
        }
        if (template == StreamReader.BROKEN) {
            desk.fail(lane, reader.complaint());
        }
    }

    private void done(final Lane lane, final SbeReader reader, final Desk desk) {
        final boolean isWhole = reader.has(SbeLayout.DONE_BYTES);
        if (isWhole && reader.bytes()[reader.blockAt() + SbeLayout.DONE_STATUS] != SbeLayout.CANCELLED) {
            desk.unexpected("an order is done that no cancel of ours ended");
            return;
        }
        report(lane, reader, desk, Reply.Type.CANCELLED, isWhole, SbeLayout.DONE_CLIENT_ID);
    }

    private void rejected(final Lane lane, final SbeReader reader, final Desk desk) {
        final boolean isWhole = reader.has(SbeLayout.REJECTED_BYTES);
        if (isWhole && desk.complaint() == null) {
            desk.complain("rejected: " + reason(reader));
        }
        report(lane, reader, desk, Reply.Type.REJECTED, isWhole, SbeLayout.REJECTED_CLIENT_ID);
    }

    private static String reason(final SbeReader reader) {
        return Objects.requireNonNullElse(reader.text(), "a reason that is shorter than its length");
    }

    private void report(final Lane lane, final SbeReader reader, final Desk desk, final Reply.Type type, final boolean isWhole,
            final int clientIdAt) {
        if (!isWhole) {
            desk.fail(lane, SHORT);
            return;
        }
        final int at = reader.blockAt() + clientIdAt;
        final long number = ids.number(reader.bytes(), at, reader.lengthOf(at, SbeLayout.CLIENT_ID_BYTES));
        if (number == ClientIds.FOREIGN) {
            desk.unexpected("a reply about an order that is not ours: " + reader.padded(at, SbeLayout.CLIENT_ID_BYTES));
            return;
        }
        desk.report(lane, reader, type, number);
    }
}
