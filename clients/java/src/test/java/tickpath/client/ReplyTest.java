package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Golden messages and bad ones. */
class ReplyTest {
    private static final ClientIds IDS = new ClientIds(0xcafe);

    private final Reply reply = new Reply();

    /** Reads the message from an array that has other bytes around it. */
    private String read(final byte[] message) {
        final byte[] bytes = new byte[message.length + 14];
        java.util.Arrays.fill(bytes, (byte) '"');
        System.arraycopy(message, 0, bytes, 7, message.length);
        return reply.read(bytes, 7, 7 + message.length);
    }

    private String read(final String message) {
        return read(message.getBytes(StandardCharsets.UTF_8));
    }

    private static String ours(final String message) {
        return message.replace(Vectors.CLIENT_ID, IDS.first().substring(0, ClientIds.NUMBER_AT) + "00000000002a");
    }

    @ParameterizedTest
    @CsvSource({
        "booked, BOOKED", "booked_stamps, BOOKED", "done_cancelled, CANCELLED", "rejected, REJECTED",
        "authenticated, AUTHENTICATED", "subscriptions, SUBSCRIPTIONS", "error, ERROR",
        "done_filled, OTHER", "done_expired, OTHER", "done_no_room, OTHER", "fill, OTHER"
    })
    void goldenMessages(final String name, final Reply.Type type) throws IOException {
        final String message = ours(Vectors.text(name + ".json"));
        assertNull(read(message));
        assertEquals(type, reply.type());
        assertEquals(message.contains("client_id") ? 0x2a : ClientIds.FOREIGN, reply.number(IDS));
    }

    /** The reader accepts every message of the exchange, and only two are acks. */
    @Test
    void everyGoldenMessageIsRead() throws IOException {
        for (final String name : Vectors.names("", ".json")) {
            assertNull(read(Vectors.text(name)), name);
            assertEquals(name.startsWith("booked"), reply.type() == Reply.Type.BOOKED, name);
            assertEquals(name.equals("done_cancelled.json"), reply.type() == Reply.Type.CANCELLED, name);
        }
    }

    @Test
    void badGoldenMessagesAreRejectedAndOddOnesAreRead() throws IOException {
        for (final String name : Vectors.names("bad", ".json")) {
            assertNotNull(read(Vectors.bytes(name)), name);
        }
        for (final String name : Vectors.names("odd", ".json")) {
            assertNull(read(ours(Vectors.text(name).replace("\\u0036", "6"))), name);
            assertEquals(Reply.Type.BOOKED, reply.type(), name);
            assertEquals(0x2a, reply.number(IDS), name);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{\"type\":\"BOOKED\",\"client_id\":\"ID\"}",
        " { \"client_id\" : \"ID\" ,\n\t\"type\" : \"BOOKED\" } ",
        "{\"x\":{\"type\":\"DONE\",\"y\":[1,-2,{\"client_id\":\"no\"},[]]},\"client_id\":\"ID\",\"type\":\"BOOKED\",\"z\":null}",
        "{\"x\":1.5e-3,\"client_id\":\"ID\",\"type\":\"BOOKED\"}",
        "{\"x\":\"\\\"type\\\":\\u0041\",\"client_id\":\"ID\",\"type\":\"BOOKED\"}",
        "{\"x\":\"größer\",\"client_id\":\"ID\",\"type\":\"BOOKED\",\"t\":true,\"f\":false}",
        "{\"\\u0074ype\":\"BOOKED\",\"client_id\":\"ID\"}",
        "{\"type\":\"DONE\",\"status\":\"CANCELLED\",\"client_id\":\"ID\"}",
        "{\"status\":\"CANCELLED\",\"client_id\":\"ID\",\"reason\":\"\\n\",\"type\":\"DONE\"}"
    })
    void keysInAnyOrderUnknownOnesAndUnusualText(final String message) {
        final String ours = message.replace("ID", IDS.first().substring(0, ClientIds.NUMBER_AT) + "000000000007");
        assertNull(read(ours));
        assertEquals(message.contains("DONE\",\"s") || message.contains("\"type\":\"DONE\"}")
                ? Reply.Type.CANCELLED : Reply.Type.BOOKED, reply.type());
        assertEquals(7, reply.number(IDS));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "", "{", "}", "[]", "1", "null", "{}", "{\"type\":1}", "{\"type\":\"BOOKED\"", "{\"type\":\"BOOKED\"}x",
        "{\"type\":\"BOOKED\"}", "{\"type\":\"DONE\",\"status\":\"CANCELLED\"}", "{type:\"BOOKED\",\"client_id\":\"a\"}",
        "{\"type\":\"BOOKED\",\"client_id\":\"a\",}", "{\"type\":\"BOOKED\" \"client_id\":\"a\"}",
        "{\"type\":\"BOOKED\",\"client_id\":\"a\",\"x\":tru}", "{\"type\":\"BOOKED\",\"client_id\":\"a\",\"x\":[1,}",
        "{\"type\":\"BOOKED\",\"client_id\":\"a\nb\"}", "{\"type\":\"BOOKED\",\"client_id\":7}"
    })
    void malformedMessagesAreErrors(final String message) {
        assertNotNull(read(message), message);
    }

    @Test
    void textThatIsNotUtf8IsMalformed() {
        final byte[] message = "{\"type\":\"BOOKED\",\"client_id\":\"a\",\"x\":\"?\"}".getBytes(StandardCharsets.US_ASCII);
        message[message.length - 3] = (byte) 0xff;
        assertEquals("a message is not UTF-8", read(message));
    }

    /** A message that is cut off is an error, one with a flipped bit at least does no harm. */
    @Test
    void damagedMessagesDoNotBreakTheReader() throws IOException {
        final byte[] whole = Vectors.bytes("booked.json");
        for (int length = 0; length < whole.length; length++) {
            assertNotNull(read(java.util.Arrays.copyOf(whole, length)));
        }
        final SplitMix64 random = new SplitMix64(1);
        for (int round = 0; round < 20_000; round++) {
            final byte[] damaged = whole.clone();
            damaged[(int) (random.bits() >>> 1) % damaged.length & 0xff] ^= (byte) (1 << (random.bits() & 7));
            read(damaged);
        }
        assertNull(read(whole));
    }
}
