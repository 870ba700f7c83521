package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import tickpath.shared.ClientException;

/** Orders and cancels, against the golden bytes. */
class FormTest {
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

    /** The number in the client id of the vectors. */
    private static final long VECTORS_NUMBER = 0x1b2c3d4e5f60L;

    @Test
    void ordersAndCancelsAreTheGoldenBytes() throws IOException {
        assertEquals(Vectors.text("create_order.json"), text(Form.order(LOAD, Vectors.CLIENT_ID, null), VECTORS_NUMBER));
        assertEquals(Vectors.text("cancel_order.json"), text(Form.cancel(LOAD, Vectors.CLIENT_ID, null), VECTORS_NUMBER));
        final String named = text(Form.cancel(LOAD, Vectors.CLIENT_ID, "3002"), VECTORS_NUMBER);
        assertEquals(Vectors.text("cancel_order_account.json").replace("BTC_EUR", "BTC_USDT"), named);
    }

    @Test
    void framesAreTheGoldenBytes() throws IOException {
        final byte[] order = new byte[Form.order(LOAD, Vectors.CLIENT_ID, null).bytes()];
        Form.order(LOAD, Vectors.CLIENT_ID, null).encode(order, VECTORS_NUMBER, Vectors.MASK);
        assertArrayEquals(Vectors.bytes("create_order.client.frame"), order);
        final byte[] cancel = new byte[Form.cancel(LOAD, Vectors.CLIENT_ID, null).bytes()];
        Form.cancel(LOAD, Vectors.CLIENT_ID, null).encode(cancel, VECTORS_NUMBER, Vectors.MASK);
        assertArrayEquals(Vectors.bytes("cancel_order.client.frame"), cancel);
    }

    @Test
    void eachOrderHasItsOwnNumberAndMask() {
        final ClientIds ids = new ClientIds(0xcafe);
        final Form form = Form.order(LOAD, ids.first(), null);
        for (final long number : new long[] {0, 1, 0xabcdef, (1L << 48) - 1}) {
            final String text = text(form, number);
            final int at = text.indexOf("0000cafe");
            final byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
            assertEquals(number, ids.number(bytes, at, ClientIds.BYTES));
        }
        assertFalse(Arrays.equals(frame(form, 1), frame(form, 2)));
    }
}
