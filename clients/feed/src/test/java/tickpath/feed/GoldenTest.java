package tickpath.feed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GoldenTest {
    /** Tests run in clients/feed. */
    private static final Path VECTORS = Path.of("../vectors");

    @ParameterizedTest
    @ValueSource(strings = {"feed_orders", "feed_levels", "feed_heartbeat", "feed_replay", "feed_snapshot"})
    void aGoldenDatagramIsReadAndWritten(final String name) throws IOException {
        final byte[] bytes = bytes(name);
        final Datagram datagram = new Datagram(bytes);
        assertEquals(text(name), datagram.text());
        assertArrayEquals(bytes, datagram.again());
    }

    @Test
    void additionsOfALaterVersionAreSkipped() throws IOException {
        assertEquals(text("feed_later"), new Datagram(bytes("feed_later")).text());
    }

    @Test
    void aDatagramThatIsCutOffIsRejected() throws IOException {
        final byte[] bytes = bytes("feed_orders");
        // Cut off in its last message.
        final byte[] cut = Arrays.copyOf(bytes, bytes.length - 1);
        assertThrows(IndexOutOfBoundsException.class, () -> new Datagram(cut));
    }

    private static byte[] bytes(final String name) throws IOException {
        return Files.readAllBytes(VECTORS.resolve(name + ".packet"));
    }

    private static String text(final String name) throws IOException {
        return Files.readString(VECTORS.resolve(name + ".txt"));
    }
}
