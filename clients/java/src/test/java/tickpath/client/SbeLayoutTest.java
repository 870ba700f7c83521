package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** The layout is that of the schema: fields follow each other without gaps. */
class SbeLayoutTest {
    private static final Map<String, Integer> PRIMITIVES =
            Map.of("char", 1, "int8", 1, "uint8", 1, "uint16", 2, "uint32", 4, "int64", 8, "uint64", 8);

    private static Document schema;
    private static final Map<String, Integer> SIZES = new HashMap<>(PRIMITIVES);

    @BeforeAll
    static void read() throws Exception {
        schema = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(Path.of("../feed/tickpath-orders.xml").toFile());
        final Element types = (Element) schema.getElementsByTagName("types").item(0);
        for (final Element type : elements(types.getElementsByTagName("*"))) {
            final String name = type.getAttribute("name");
            switch (type.getTagName()) {
                case "type" -> SIZES.putIfAbsent(name, size(type));
                case "enum" -> SIZES.put(name, PRIMITIVES.get(type.getAttribute("encodingType")));
                case "composite" -> {
                    int size = 0;
                    for (final Element part : elements(type.getElementsByTagName("type"))) {
                        size += size(part);
                    }
                    SIZES.put(name, size);
                }
                default -> { }
            }
        }
    }

    private static int size(final Element type) {
        final String length = type.getAttribute("length");
        return PRIMITIVES.get(type.getAttribute("primitiveType")) * (length.isEmpty() ? 1 : Integer.parseInt(length));
    }

    private static Iterable<Element> elements(final NodeList nodes) {
        final java.util.List<Element> all = new java.util.ArrayList<>();
        for (int index = 0; index < nodes.getLength(); index++) {
            all.add((Element) nodes.item(index));
        }
        return all;
    }

    private static Element message(final String name) {
        for (final Element message : elements(schema.getElementsByTagName("sbe:message"))) {
            if (message.getAttribute("name").equals(name)) {
                return message;
            }
        }
        throw new AssertionError("no message " + name);
    }

    /** The position of a field; null: the length of the block. */
    private static int position(final String message, final String field) {
        int at = 0;
        for (final Element one : elements(message(message).getElementsByTagName("field"))) {
            if (one.getAttribute("name").equals(field)) {
                return at;
            }
            at += SIZES.get(one.getAttribute("type"));
        }
        assertEquals(null, field, message);
        return at;
    }

    private static void assertBlock(final String message, final int template, final int bytes) {
        assertEquals(template, Integer.parseInt(message(message).getAttribute("id")), message);
        assertEquals(bytes, position(message, null), message);
    }

    @Test
    void blocksAreThoseOfTheSchema() {
        assertEquals(SbeLayout.SCHEMA, Integer.parseInt(schema.getDocumentElement().getAttribute("id")));
        assertEquals(SbeLayout.VERSION, Integer.parseInt(schema.getDocumentElement().getAttribute("version")));
        assertBlock("Logon", SbeLayout.LOGON, SbeLayout.LOGON_BYTES);
        assertBlock("LogonAccepted", SbeLayout.LOGON_ACCEPTED, SbeLayout.LOGON_ACCEPTED_BYTES);
        assertBlock("Instrument", SbeLayout.INSTRUMENT, SbeLayout.INSTRUMENT_BYTES);
        assertBlock("Heartbeat", SbeLayout.HEARTBEAT, SbeLayout.HEARTBEAT_BYTES);
        assertBlock("Terminate", SbeLayout.TERMINATE, 0);
        assertBlock("NewOrder", SbeLayout.NEW_ORDER, SbeLayout.NEW_ORDER_BYTES);
        assertBlock("CancelOrder", SbeLayout.CANCEL_ORDER, SbeLayout.CANCEL_ORDER_BYTES);
        assertBlock("Booked", SbeLayout.BOOKED, SbeLayout.BOOKED_BYTES);
        assertBlock("Done", SbeLayout.DONE, SbeLayout.DONE_BYTES);
        assertBlock("Rejected", SbeLayout.REJECTED, SbeLayout.REJECTED_BYTES);
    }

    @Test
    void fieldsAreWhereTheSchemaHasThem() {
        assertEquals(SbeLayout.LOGON_ACCEPTED_INSTRUMENTS, position("LogonAccepted", "instruments"));
        assertEquals(SbeLayout.INSTRUMENT_CODE, position("Instrument", "code"));
        assertEquals(SbeLayout.CODE_BYTES, SIZES.get("code"));
        for (final String request : new String[] {"NewOrder", "CancelOrder"}) {
            assertEquals(SbeLayout.SEQUENCE, position(request, "sequence"));
            assertEquals(SbeLayout.REQUEST_CLIENT_ID, position(request, "clientId"));
        }
        assertEquals(SbeLayout.NEW_ORDER_INSTRUMENT, position("NewOrder", "instrument"));
        assertEquals(SbeLayout.NEW_ORDER_SIDE, position("NewOrder", "side"));
        assertEquals(SbeLayout.NEW_ORDER_PRICE, position("NewOrder", "price"));
        assertEquals(SbeLayout.NEW_ORDER_AMOUNT, position("NewOrder", "amount"));
        assertEquals(SbeLayout.NEW_ORDER_DISPLAY_AMOUNT, position("NewOrder", "displayAmount"));
        assertEquals(SbeLayout.NEW_ORDER_STOP_PRICE, position("NewOrder", "stopPrice"));
        assertEquals(SbeLayout.NEW_ORDER_TICK, position("NewOrder", "tick"));
        assertEquals(SbeLayout.NEW_ORDER_RESPONSE_NS, position("NewOrder", "responseNs"));
        assertEquals(SbeLayout.CANCEL_ORDER_INSTRUMENT, position("CancelOrder", "instrument"));
        assertEquals(SbeLayout.BOOKED_CLIENT_ID, position("Booked", "clientId"));
        assertEquals(SbeLayout.DONE_CLIENT_ID, position("Done", "clientId"));
        assertEquals(SbeLayout.DONE_STATUS, position("Done", "status"));
        assertEquals(SbeLayout.REJECTED_CLIENT_ID, position("Rejected", "clientId"));
        assertEquals(SbeLayout.CLIENT_ID_BYTES, SIZES.get("clientId"));
        assertEquals(SbeLayout.EXPONENT, SIZES.get("int64"));
    }
}
