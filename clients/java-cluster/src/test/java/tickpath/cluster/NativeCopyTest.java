package tickpath.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tickpath.shared.ClientException;

/** A copy through JNA. The crate replica tests what it does. */
class NativeCopyTest {
    @TempDir
    Path directory;

    @BeforeAll
    static void load() throws ClientException {
        Library.load();
    }

    @Test
    void aCopyRejectsNoiseAndComesBackFromItsSavedState() throws ClientException {
        final UnsafeBuffer saved;
        try (NativeCopy copy = NativeCopy.open(directory, null)) {
            copy.receive(5, 0, new UnsafeBuffer(new byte[64]), 0, 64);
            assertTrue(copy.output().capacity() > 0, "it says why not");
            assertEquals(0, copy.followed());
            copy.save();
            saved = new UnsafeBuffer(ByteBuffer.allocateDirect(copy.output().capacity()));
            saved.putBytes(0, copy.output(), 0, saved.capacity());
        }
        try (NativeCopy copy = NativeCopy.open(directory, saved)) {
            assertEquals(0, copy.nextSequence());
            assertEquals(0, copy.term());
        }
        saved.putByte(saved.capacity() - 1, (byte) 0);
        final ClientException error =
                assertThrows(ClientException.class, () -> NativeCopy.open(directory, saved));
        assertTrue(error.getMessage().contains("damaged"), error::getMessage);
    }
}
