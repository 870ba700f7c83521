package tickpath.cluster;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import tickpath.shared.ClientException;

/**
 * A member's copy of an exchange's journal, of the crate {@code engine-abi}, whose page says what
 * its functions do. Not for several threads at once. After an error it can only be closed.
 *
 * <p>See docs/decisions/040-the-copy-in-a-cluster.md.
 */
final class NativeCopy implements AutoCloseable {
    private final UnsafeBuffer bytes = new UnsafeBuffer(ByteBuffer.allocateDirect(Stream.BYTES_MAX));
    private final UnsafeBuffer output = new UnsafeBuffer(0, 0);
    private long handle;

    private NativeCopy(final long handle) {
        this.handle = handle;
    }

    /** {@link NativeEngine#load} does it. */
    static void register(final NativeLibrary library) {
        Native.register(Functions.class, library);
    }

    /**
     * The copy in a directory, which is made if it is not there.
     *
     * @param saved of {@link #save}, in direct memory; null for a new copy
     */
    static NativeCopy open(final Path directory, final DirectBuffer saved) throws ClientException {
        final byte[] path = directory.toAbsolutePath().toString().getBytes(StandardCharsets.UTF_8);
        final UnsafeBuffer name = new UnsafeBuffer(ByteBuffer.allocateDirect(path.length));
        name.putBytes(0, path);
        final long handle = saved == null
                ? Functions.tickpath_copy_open(name.addressOffset(), path.length, 0, 0)
                : Functions.tickpath_copy_open(
                        name.addressOffset(), path.length, saved.addressOffset(), saved.capacity());
        if (handle == 0) {
            throw new ClientException(NativeEngine.lastError());
        }
        return new NativeCopy(handle);
    }

    /** Takes bytes of a connection; {@link #output} then has the reply. */
    void receive(final long connection, final long at, final DirectBuffer buffer, final int offset, final int length)
            throws ClientException {
        bytes.putBytes(0, buffer, offset, length);
        wrap(Functions.tickpath_copy_receive(handle, connection, at, bytes.addressOffset(), length));
    }

    /** Saves what decides about the next bytes to {@link #output}. */
    void save() throws ClientException {
        wrap(Functions.tickpath_copy_save(handle));
    }

    private void wrap(final long length) throws ClientException {
        if (length < 0) {
            throw new ClientException(NativeEngine.lastError());
        }
        output.wrap(Functions.tickpath_copy_output(handle), Math.toIntExact(length));
    }

    /** The last reply or saved state; valid until the next call. */
    DirectBuffer output() {
        return output;
    }

    /** The connection that is followed; 0: none. */
    long followed() {
        return Functions.tickpath_copy_followed(handle);
    }

    /** The record that the copy needs next. */
    long nextSequence() {
        return Functions.tickpath_copy_next_sequence(handle);
    }

    /** The term of the exchange that was taken last; 0: none yet. */
    long term() {
        return Functions.tickpath_copy_term(handle);
    }

    @Override
    public void close() {
        Functions.tickpath_copy_free(handle);
        handle = 0;
    }

    /** Pointers are longs: JNA's direct mapping passes numbers without objects. */
    private static final class Functions {
        static native long tickpath_copy_open(long directory, long directoryLength, long saved, long savedLength);

        static native long tickpath_copy_receive(long handle, long connection, long at, long bytes, long length);

        static native long tickpath_copy_save(long handle);

        static native long tickpath_copy_output(long handle);

        static native long tickpath_copy_followed(long handle);

        static native long tickpath_copy_next_sequence(long handle);

        static native long tickpath_copy_term(long handle);

        static native void tickpath_copy_free(long handle);
    }
}
