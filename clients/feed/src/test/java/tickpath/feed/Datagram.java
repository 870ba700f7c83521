package tickpath.feed;

import org.agrona.ExpandableArrayBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Reads a datagram message by message, into text as in the golden files, and writes it again.
 */
final class Datagram {
    private static final int UNKNOWN = -1;

    private final UnsafeBuffer bytes;
    private final ExpandableArrayBuffer again = new ExpandableArrayBuffer();
    private final MessageHeaderDecoder header = new MessageHeaderDecoder();
    private final MessageHeaderEncoder headerAgain = new MessageHeaderEncoder();
    private final StringBuilder text = new StringBuilder();
    private int written;

    Datagram(final byte[] datagram) {
        bytes = new UnsafeBuffer(datagram);
        int position = 0;
        while (position < datagram.length) {
            header.wrap(bytes, position);
            if (header.schemaId() != PacketDecoder.SCHEMA_ID) {
                throw new IllegalArgumentException("schema " + header.schemaId() + " at byte " + position);
            }
            final int block = position + MessageHeaderDecoder.ENCODED_LENGTH;
            final int length = message(block);
            if (length == UNKNOWN) {
                text.append("unknown template=").append(header.templateId()).append(" version=").append(header.version())
                    .append(" bytes=").append(header.blockLength()).append('\n');
            } else {
                written += MessageHeaderEncoder.ENCODED_LENGTH + length;
            }
            position = block + header.blockLength();
        }
    }

    /** The text, one line per message. */
    String text() {
        return text.toString();
    }

    /** The known messages, as this version writes them. */
    byte[] again() {
        final byte[] copy = new byte[written];
        again.getBytes(0, copy);
        return copy;
    }

    private int message(final int block) {
        switch (header.templateId()) {
            case PacketDecoder.TEMPLATE_ID:
                return packet(block);
            case OrderAddedDecoder.TEMPLATE_ID:
                return orderAdded(block);
            case OrderReducedDecoder.TEMPLATE_ID:
                return orderReduced(block);
            case OrderDeletedDecoder.TEMPLATE_ID:
                return orderDeleted(block);
            case TradeDecoder.TEMPLATE_ID:
                return trade(block);
            case LevelDecoder.TEMPLATE_ID:
                return level(block);
            case StateDecoder.TEMPLATE_ID:
                return state(block);
            case DefinitionDecoder.TEMPLATE_ID:
                return definition(block);
            default:
                return UNKNOWN;
        }
    }

    private int packet(final int block) {
        final PacketDecoder in = new PacketDecoder().wrap(bytes, block, header.blockLength(), header.version());
        line("Packet", "session", unsigned(in.session()), "sequence", unsigned(in.sequence()), "intendedNs", unsigned(in.intendedNs()),
            "acknowledgedNs", unsigned(in.acknowledgedNs()), "publishedNs", unsigned(in.publishedNs()), "count", in.count(), "part", in.part(),
            "parts", in.parts(), "channel", in.channel(), "kind", in.kind());
        return new PacketEncoder().wrapAndApplyHeader(again, written, headerAgain).session(in.session()).sequence(in.sequence())
            .intendedNs(in.intendedNs()).acknowledgedNs(in.acknowledgedNs()).publishedNs(in.publishedNs()).count(in.count()).part(in.part())
            .parts(in.parts()).channel(in.channel()).kind(in.kind()).encodedLength();
    }

    private int orderAdded(final int block) {
        final OrderAddedDecoder in = new OrderAddedDecoder().wrap(bytes, block, header.blockLength(), header.version());
        line("OrderAdded", "orderId", unsigned(in.orderId()), "priceTicks", in.priceTicks(), "quantityLots", unsigned(in.quantityLots()),
            "instrument", in.instrument(), "side", in.side());
        return new OrderAddedEncoder().wrapAndApplyHeader(again, written, headerAgain).orderId(in.orderId()).priceTicks(in.priceTicks())
            .quantityLots(in.quantityLots()).instrument(in.instrument()).side(in.side()).encodedLength();
    }

    private int orderReduced(final int block) {
        final OrderReducedDecoder in = new OrderReducedDecoder().wrap(bytes, block, header.blockLength(), header.version());
        line("OrderReduced", "orderId", unsigned(in.orderId()), "quantityLots", unsigned(in.quantityLots()), "instrument", in.instrument());
        return new OrderReducedEncoder().wrapAndApplyHeader(again, written, headerAgain).orderId(in.orderId())
            .quantityLots(in.quantityLots()).instrument(in.instrument()).encodedLength();
    }

    private int orderDeleted(final int block) {
        final OrderDeletedDecoder in = new OrderDeletedDecoder().wrap(bytes, block, header.blockLength(), header.version());
        line("OrderDeleted", "orderId", unsigned(in.orderId()), "instrument", in.instrument());
        return new OrderDeletedEncoder().wrapAndApplyHeader(again, written, headerAgain).orderId(in.orderId())
            .instrument(in.instrument()).encodedLength();
    }

    private int trade(final int block) {
        final TradeDecoder in = new TradeDecoder().wrap(bytes, block, header.blockLength(), header.version());
        line("Trade", "tradeId", unsigned(in.tradeId()), "orderId", unsigned(in.orderId()), "priceTicks", in.priceTicks(),
            "quantityLots", unsigned(in.quantityLots()), "instrument", in.instrument(), "aggressorSide", in.aggressorSide());
        return new TradeEncoder().wrapAndApplyHeader(again, written, headerAgain).tradeId(in.tradeId()).orderId(in.orderId())
            .priceTicks(in.priceTicks()).quantityLots(in.quantityLots()).instrument(in.instrument()).aggressorSide(in.aggressorSide())
            .encodedLength();
    }

    private int level(final int block) {
        final LevelDecoder in = new LevelDecoder().wrap(bytes, block, header.blockLength(), header.version());
        line("Level", "priceTicks", in.priceTicks(), "quantityLots", unsigned(in.quantityLots()), "orders", in.orders(),
            "instrument", in.instrument(), "side", in.side());
        return new LevelEncoder().wrapAndApplyHeader(again, written, headerAgain).priceTicks(in.priceTicks())
            .quantityLots(in.quantityLots()).orders(in.orders()).instrument(in.instrument()).side(in.side()).encodedLength();
    }

    private int state(final int block) {
        final StateDecoder in = new StateDecoder().wrap(bytes, block, header.blockLength(), header.version());
        line("State", "instrument", in.instrument(), "state", in.state());
        return new StateEncoder().wrapAndApplyHeader(again, written, headerAgain).instrument(in.instrument()).state(in.state())
            .encodedLength();
    }

    private int definition(final int block) {
        final DefinitionDecoder in = new DefinitionDecoder().wrap(bytes, block, header.blockLength(), header.version());
        line("Definition", "bookHash", unsigned(in.bookHash()), "entries", in.entries(), "instrument", in.instrument(),
            "tick", scaled(in.tick()), "lot", scaled(in.lot()), "code", in.code());
        final DefinitionEncoder out = new DefinitionEncoder().wrapAndApplyHeader(again, written, headerAgain);
        out.bookHash(in.bookHash()).entries(in.entries()).instrument(in.instrument()).code(in.code());
        out.tick().mantissa(in.tick().mantissa()).exponent(in.tick().exponent());
        out.lot().mantissa(in.lot().mantissa()).exponent(in.lot().exponent());
        return out.encodedLength();
    }

    private void line(final String message, final Object... namesAndValues) {
        text.append(message);
        for (int index = 0; index < namesAndValues.length; index += 2) {
            text.append(' ').append(namesAndValues[index]).append('=').append(namesAndValues[index + 1]);
        }
        text.append('\n');
    }

    private static String unsigned(final long value) {
        return Long.toUnsignedString(value);
    }

    private static String scaled(final ScaledDecoder value) {
        return value.mantissa() + "e" + value.exponent();
    }
}
