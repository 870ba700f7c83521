package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Frames of a stream, in one read or in several. */
class FrameReaderTest {
    private final FrameReader reader = new FrameReader();
    private long stampNs = 100;

    private void fill(final byte... bytes) {
        reader.fill(Unpooled.wrappedBuffer(bytes), stampNs++);
    }

    private byte[] payload() {
        return Arrays.copyOfRange(reader.payload(), reader.payloadAt(), reader.payloadEnd());
    }

    private static byte[] join(final byte[]... parts) {
        final java.io.ByteArrayOutputStream all = new java.io.ByteArrayOutputStream();
        for (final byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    private void assertBroken(final String why, final byte... bytes) {
        final FrameReader fresh = new FrameReader();
        fresh.fill(Unpooled.wrappedBuffer(bytes), 1);
        int opcode = fresh.next();
        while (opcode >= 0) {
            opcode = fresh.next();
        }
        assertEquals(FrameReader.BROKEN, opcode);
        assertTrue(fresh.complaint().contains(why), fresh.complaint());
    }

    @Test
    void theGoldenFramesOfAServer() throws IOException {
        fill(join(Vectors.bytes("booked.server.frame"), Vectors.bytes("pong.server.frame")));
        assertEquals(WebSocket.TEXT, reader.next());
        assertArrayEquals(Vectors.bytes("booked.json"), payload());
        assertEquals(Vectors.bytes("booked.server.frame").length, reader.frameBytes());
        assertEquals(WebSocket.PONG, reader.next());
        assertArrayEquals("tick".getBytes(java.nio.charset.StandardCharsets.US_ASCII), payload());
        assertEquals(FrameReader.NONE, reader.next());
    }

    /**
     * A reply that spans two reads has the stamp of the first, the next reply that of the second.
     */
    @Test
    void theStampIsThatOfTheFirstByte() throws IOException {
        final byte[] frame = Vectors.bytes("booked.server.frame");
        for (int cut = 1; cut < frame.length; cut++) {
            final long first = stampNs;
            fill(Arrays.copyOf(frame, cut));
            assertEquals(FrameReader.NONE, reader.next());
            fill(join(Arrays.copyOfRange(frame, cut, frame.length), frame));
            assertEquals(WebSocket.TEXT, reader.next());
            assertEquals(first, reader.frameNs());
            assertEquals(WebSocket.TEXT, reader.next());
            assertEquals(first + 1, reader.frameNs());
            assertEquals(FrameReader.NONE, reader.next());
        }
    }

    @Test
    void aFragmentedMessageWithAPingBetween() {
        fill(new byte[] {0x01, 1, 'a'});
        fill(new byte[] {(byte) 0x89, 1, '!', 0x00, 1, 'b'});
        assertEquals(WebSocket.PING, reader.next());
        assertEquals(FrameReader.NONE, reader.next());
        fill(new byte[] {(byte) 0x80, 1, 'c'});
        assertEquals(WebSocket.TEXT, reader.next());
        assertArrayEquals(new byte[] {'a', 'b', 'c'}, payload());
        assertEquals(9, reader.frameBytes());
        assertEquals(100, reader.frameNs());
    }

    @Test
    void aLongReadIsTakenInWhole() {
        final int length = FrameReader.MESSAGE_BYTES_MAX;
        final byte[] frame = new byte[10 + length];
        frame[0] = (byte) 0x81;
        frame[1] = 127;
        frame[7] = (byte) (length >> 16);
        frame[8] = (byte) (length >> 8);
        frame[9] = (byte) length;
        for (int round = 0; round < 5; round++) {
            fill(join(frame, frame, Arrays.copyOf(frame, 5)));
            assertEquals(WebSocket.TEXT, reader.next());
            assertEquals(WebSocket.TEXT, reader.next());
            assertEquals(FrameReader.NONE, reader.next());
            fill(Arrays.copyOfRange(frame, 5, frame.length));
            assertEquals(WebSocket.TEXT, reader.next());
            assertEquals(FrameReader.NONE, reader.next());
        }
    }

    @Test
    void badGoldenFramesAreRejectedAndOddOnesAreRead() throws IOException {
        for (final String name : Vectors.names("bad", ".server.frame")) {
            assertBroken("", Vectors.bytes(name));
        }
        for (final String name : Vectors.names("odd", ".server.frame")) {
            fill(Vectors.bytes(name));
            int opcode = reader.next();
            while (opcode != WebSocket.TEXT) {
                assertEquals(WebSocket.PING, opcode, name);
                opcode = reader.next();
            }
            assertArrayEquals(Vectors.bytes("booked.json"), payload(), name);
        }
    }

    @Test
    void badFramesHaveAnErrorThatNamesTheReason() {
        assertBroken("reserved", (byte) 0xc1, (byte) 0);
        assertBroken("masked", (byte) 0x81, (byte) 0x80, (byte) 0, (byte) 0, (byte) 0, (byte) 0);
        assertBroken("opcode 3", (byte) 0x83, (byte) 0);
        assertBroken("opcode 11", (byte) 0x8b, (byte) 0);
        assertBroken("control frame", (byte) 0x09, (byte) 0);
        assertBroken("control frame", join(new byte[] {(byte) 0x89, 126, 0, 126}, new byte[126]));
        assertBroken("continues nothing", (byte) 0x80, (byte) 0);
        assertBroken("continues nothing", (byte) 0x01, (byte) 0, (byte) 0x81, (byte) 0);
        final byte ff = (byte) 0xff;
        assertBroken("limit is 131072", (byte) 0x81, (byte) 127, ff, ff, ff, ff, ff, ff, ff, ff);
        assertBroken("limit is 131072", (byte) 0x81, (byte) 127, (byte) 0, (byte) 0, (byte) 0, (byte) 0, ff, ff, ff, ff);
    }
}
