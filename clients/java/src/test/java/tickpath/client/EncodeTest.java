package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tickpath.shared.ClientException;

/** What the client writes, against the golden bytes. */
class EncodeTest {
    private static final Plan.Load LOAD = load();

    private static Plan.Load load() {
        try {
            return new Plans("ping-pong", 1, Path.of("x.hlog")).plan().load();
        } catch (final ClientException e) {
            throw new AssertionError(e);
        }
    }

    private static String text(final Form form, final long number) {
        final byte[] frame = new byte[form.bytes()];
        form.encode(frame, number, 0);
        final int header = frame.length - 8 > 125 ? 8 : 6;
        return new String(frame, header, frame.length - header, StandardCharsets.UTF_8);
    }

    private static byte[] frame(final Form form, final int mask) {
        final byte[] frame = new byte[form.bytes()];
        form.encode(frame, 0, mask);
        return frame;
    }

    /** A form whose id is a vector's: its number is filled in over the id's own digits. */
    private static final long VECTORS_NUMBER = 0x1b2c3d4e5f60L;

    @Test
    void ordersAndCancelsAreTheGoldenBytes() throws IOException {
        assertEquals(Vectors.text("create_order.json"), text(Form.order(LOAD, Vectors.CLIENT_ID, null), VECTORS_NUMBER));
        assertEquals(Vectors.text("cancel_order.json"), text(Form.cancel(LOAD, Vectors.CLIENT_ID, null), VECTORS_NUMBER));
        final String named = text(Form.cancel(LOAD, Vectors.CLIENT_ID, "3002"), VECTORS_NUMBER);
        assertEquals(Vectors.text("cancel_order_account.json").replace("BTC_EUR", "BTC_USDT"), named);
    }

    /**
     * Two containers of a fleet had one process id and began together: one's orders were refused as
     * the other's duplicates.
     */
    @Test
    void runsThatBeginTogetherHaveClientIdsOfTheirOwn() {
        assertEquals(100, IntStream.range(0, 100).map(run -> ClientIds.nonce()).distinct().count());
    }

    @Test
    void framesAreTheGoldenBytes() throws IOException {
        final byte[] order = new byte[Form.order(LOAD, Vectors.CLIENT_ID, null).bytes()];
        Form.order(LOAD, Vectors.CLIENT_ID, null).encode(order, VECTORS_NUMBER, Vectors.MASK);
        assertArrayEquals(Vectors.bytes("create_order.client.frame"), order);
        final byte[] cancel = new byte[Form.cancel(LOAD, Vectors.CLIENT_ID, null).bytes()];
        Form.cancel(LOAD, Vectors.CLIENT_ID, null).encode(cancel, VECTORS_NUMBER, Vectors.MASK);
        assertArrayEquals(Vectors.bytes("cancel_order.client.frame"), cancel);
        final byte[] ping = "tick".getBytes(StandardCharsets.US_ASCII);
        assertArrayEquals(Vectors.bytes("ping.client.frame"), WebSocket.clientFrame(WebSocket.PING, ping, Vectors.MASK));
    }

    @Test
    void aFormIsEncodedAnewEachTime() {
        final ClientIds ids = new ClientIds(0xcafe);
        final Form form = Form.order(LOAD, ids.first(), null);
        for (final long number : new long[] {0, 1, 0xabcdef, (1L << 48) - 1}) {
            final String text = text(form, number);
            final int at = text.indexOf("0000cafe");
            final byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
            assertEquals(number, ids.number(bytes, at, ClientIds.BYTES));
        }
        assertTrue(!Arrays.equals(frame(form, 1), frame(form, 2)));
    }

    @Test
    void idsOfOthersAreStrangers() {
        final ClientIds ids = new ClientIds(7);
        final byte[] other = new ClientIds(8).first().getBytes(StandardCharsets.US_ASCII);
        assertEquals(ClientIds.STRANGER, ids.number(other, 0, other.length));
        final byte[] own = ids.first().getBytes(StandardCharsets.US_ASCII);
        assertEquals(0, ids.number(own, 0, own.length));
        assertEquals(ClientIds.STRANGER, ids.number(own, 0, own.length - 1));
        own[30] = 'G';
        assertEquals(ClientIds.STRANGER, ids.number(own, 0, own.length));
    }

    @Test
    void theUpgradeIsTheGoldenOne() throws IOException {
        final String key = "dGhlIHNhbXBsZSBub25jZQ==";
        assertEquals(Vectors.text("upgrade_request.http"), WebSocket.upgradeRequest("127.0.0.1:8888", key));
        final String response = Vectors.text("upgrade_response.http").strip();
        assertNull(WebSocket.complaintAboutUpgrade(response, key));
        assertNotNull(WebSocket.complaintAboutUpgrade(response, "c29tZSBvdGhlciBrZXk="));
        final String refused = WebSocket.complaintAboutUpgrade("HTTP/1.1 503 Service Unavailable", key);
        assertTrue(refused.contains("503 Service Unavailable"), refused);
        assertTrue(WebSocket.complaintAboutUpgrade("SSH-2.0-OpenSSH", key).contains("not HTTP"));
    }
}
