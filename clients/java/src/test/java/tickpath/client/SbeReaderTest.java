package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import tickpath.shared.ClientException;

/** Frames of SBE order entry, against the golden bytes. */
class SbeReaderTest {
    private static final int NUMBER = 42;

    private static SbeReader reader(final byte... bytes) {
        final SbeReader reader = new SbeReader();
        reader.fill(Unpooled.wrappedBuffer(bytes), 1);
        return reader;
    }

    private static String complaint(final byte[] good, final int at, final int value) {
        final byte[] bad = good.clone();
        bad[at] = (byte) value;
        final SbeReader reader = reader(bad);
        assertEquals(StreamReader.BROKEN, reader.next());
        return reader.complaint();
    }

    /** The frame that a form writes, with the client id of the files. */
    private static byte[] encoded(final SbeForm form, final long sequence) {
        final byte[] out = new byte[form.bytes()];
        form.encode(out, sequence, NUMBER);
        final byte[] golden = Vectors.CLIENT_ID.getBytes(StandardCharsets.US_ASCII);
        final int at = SbeLayout.HEAD_BYTES + SbeLayout.REQUEST_CLIENT_ID;
        final byte[] ours = Arrays.copyOfRange(out, at, at + ClientIds.BYTES);
        assertEquals(NUMBER, new ClientIds(7).number(ours, 0, ours.length));
        System.arraycopy(golden, 0, out, at, golden.length);
        return out;
    }

    @Test
    void ordersAndCancelsAreTheGoldenBytes() throws IOException, ClientException {
        final Plan.Load load = new Plans("open", 1, Path.of("x.hlog")).withLoad("side", "SELL").withLoad("price", "65000.5")
                .withLoad("amount", "0.25").plan().load();
        final byte[] golden = Vectors.bytes("sbe_new_order.frame");
        // The vector's order is good-till-date, iceberg and post-only.
        golden[SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_SIDE + 1] = 0;
        golden[SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_SIDE + 2] = 0;
        SbeLayout.putLong(golden, SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_DISPLAY_AMOUNT, SbeLayout.NULL_MANTISSA);
        golden[SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_DISPLAY_AMOUNT + SbeLayout.EXPONENT] = 0;
        SbeLayout.putLong(golden, SbeLayout.HEAD_BYTES + SbeLayout.NEW_ORDER_TICK - Long.BYTES, 0);
        final String first = new ClientIds(7).first();
        assertArrayEquals(golden, encoded(SbeForm.order(load, first, 1), 1));
        assertArrayEquals(Vectors.bytes("sbe_cancel_order.frame"), encoded(SbeForm.cancel(first, 0), 2));
    }

    @Test
    void logonAndHeartbeatAreTheGoldenBytes() throws IOException {
        final byte[] golden = Vectors.bytes("sbe_logon.frame");
        // The logon of the file continues a session.
        Arrays.fill(golden, SbeLayout.HEAD_BYTES, SbeLayout.HEAD_BYTES + SbeLayout.LOGON_BYTES, (byte) 0);
        assertArrayEquals(golden, SbeOrders.logon("secret-1"));
        assertArrayEquals(Vectors.bytes("sbe_heartbeat.frame"), SbeOrders.heartbeat(5));
    }

    @Test
    void everyGoldenFrameIsFoundByteByByteWithTheStampOfItsFirst() throws IOException {
        final SbeReader reader = new SbeReader();
        long stampNs = 0;
        int found = 0;
        for (final String name : Vectors.names(".", ".frame")) {
            if (!name.contains("sbe_")) {
                continue;
            }
            final byte[] frame = Vectors.bytes(name);
            final long firstNs = stampNs + 1;
            for (final byte one : frame) {
                assertEquals(StreamReader.NONE, reader.next(), name);
                reader.fill(Unpooled.wrappedBuffer(new byte[] {one}), ++stampNs);
            }
            assertTrue(reader.next() > 0, name);
            assertEquals(frame.length, reader.frameBytes(), name);
            assertEquals(firstNs, reader.frameNs(), name);
            found++;
        }
        assertTrue(found >= 22, "only " + found);
    }

    @Test
    void fieldsOfGoldenReportsAreRead() throws IOException {
        final SbeReader accepted = reader(Vectors.bytes("sbe_logon_accepted.frame"));
        assertEquals(SbeLayout.LOGON_ACCEPTED, accepted.next());
        assertEquals(4, SbeLayout.getShort(accepted.bytes(), accepted.blockAt() + SbeLayout.LOGON_ACCEPTED_INSTRUMENTS));
        final SbeReader instrument = reader(Vectors.bytes("sbe_instrument.frame"));
        assertEquals(SbeLayout.INSTRUMENT, instrument.next());
        assertEquals("BTC_EUR", instrument.padded(instrument.blockAt() + SbeLayout.INSTRUMENT_CODE, SbeLayout.CODE_BYTES));
        final SbeReader booked = reader(Vectors.bytes("sbe_booked.frame"));
        assertEquals(SbeLayout.BOOKED, booked.next());
        assertTrue(booked.has(SbeLayout.BOOKED_BYTES) && !booked.has(SbeLayout.BOOKED_BYTES + 1));
        assertEquals(Vectors.CLIENT_ID, booked.padded(booked.blockAt() + SbeLayout.BOOKED_CLIENT_ID, SbeLayout.CLIENT_ID_BYTES));
        final SbeReader done = reader(Vectors.bytes("sbe_done.frame"));
        assertEquals(SbeLayout.DONE, done.next());
        // Self-trade prevented.
        assertEquals(3, done.bytes()[done.blockAt() + SbeLayout.DONE_STATUS]);
        final SbeReader rejected = reader(Vectors.bytes("sbe_rejected.frame"));
        assertEquals(SbeLayout.REJECTED, rejected.next());
        assertEquals("no such order: \u00e9", rejected.text());
        final SbeReader terminate = reader(Vectors.bytes("sbe_terminate.frame"));
        assertEquals(SbeLayout.TERMINATE, terminate.next());
        assertEquals("done", terminate.text());
    }

    @Test
    void faultsHaveNames() throws IOException {
        final byte[] good = Vectors.bytes("sbe_rejected.frame");
        assertEquals("a frame of 13 bytes: the length must be from 14 to 1024", complaint(good, 3, 13));
        assertEquals("a frame's encoding type is 60241, not 60240 (SBE 1.0, little endian)", complaint(good, 5, 0x51));
        assertEquals("a message of schema 29696, not 29802", complaint(good, 10, 0));
        assertEquals("a message of template 58 is longer than its frame", complaint(good, 7, 1));
        final byte[] overlong = good.clone();
        overlong[SbeLayout.HEAD_BYTES + SbeLayout.REJECTED_BYTES] = (byte) 255;
        final SbeReader reader = reader(overlong);
        assertEquals(SbeLayout.REJECTED, reader.next());
        assertNull(reader.text());
        assertEquals(StreamReader.NONE, reader(Arrays.copyOf(good, good.length - 1)).next());
    }
}
