package tickpath.cluster;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.nio.file.Path;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import tickpath.shared.ClientException;

/**
 * The engine of the crate {@code engine-abi}, whose page says what its functions do. Not for
 * several threads at once.
 *
 * <p>See docs/decisions/030-aeron-cluster.md.
 */
final class NativeEngine implements AutoCloseable {
    /** Bytes of a command's record, and of an event's. */
    static final int RECORD_BYTES = 72;

    private static final int VERSION = 2;

    private final UnsafeBuffer record = new UnsafeBuffer(java.nio.ByteBuffer.allocateDirect(RECORD_BYTES));
    private final UnsafeBuffer output = new UnsafeBuffer(0, 0);
    private long handle;

    private NativeEngine(final long handle) {
        this.handle = handle;
    }

    /**
     * Loads the library; before anything else, once in a process.
     *
     * @throws ClientException if it is not there, or is of another version
     */
    static void load(final Path library) throws ClientException {
        final NativeLibrary loaded;
        try {
            loaded = NativeLibrary.getInstance(library.toAbsolutePath().toString());
            Native.register(Functions.class, loaded);
        } catch (final UnsatisfiedLinkError e) {
            throw new ClientException(
                    "the engine's library can't be loaded: " + e.getMessage() + ": build it with `make cluster`", e);
        }
        final int version = Functions.tickpath_engine_version();
        if (version != VERSION) {
            throw new ClientException(library + " has version " + version + ", and this program needs " + VERSION
                    + ": build both with `make cluster`");
        }
        NativeCopy.register(loaded);
    }

    static NativeEngine create(final EngineShape shape) throws ClientException {
        return of(Functions.tickpath_engine_new(
                (short) shape.instruments(),
                shape.openOrdersMax(),
                shape.priceLevelsMax(),
                shape.stopLevelsMax(),
                shape.expiringOrdersMax(),
                shape.accountsMax()));
    }

    /**
     * The engine that {@link #save} described.
     *
     * @param bytes in direct memory
     */
    static NativeEngine restore(final DirectBuffer bytes, final int length) throws ClientException {
        return of(Functions.tickpath_engine_restore(bytes.addressOffset(), length));
    }

    private static NativeEngine of(final long handle) throws ClientException {
        if (handle == 0) {
            throw new ClientException(lastError());
        }
        return new NativeEngine(handle);
    }

    /**
     * Applies the command of a record at a time.
     *
     * @return the number of events, which {@link #output} then has; negative if the record can't be
     *     read, which changed nothing, or if the engine has failed: {@link #error} says which
     */
    long apply(final DirectBuffer buffer, final int offset, final long timeNs) {
        record.putBytes(0, buffer, offset, RECORD_BYTES);
        final long events = Functions.tickpath_engine_apply(handle, record.addressOffset(), timeNs);
        wrap(events * RECORD_BYTES);
        return events;
    }

    /** Saves the state to {@link #output}. */
    void save() throws ClientException {
        final long length = Functions.tickpath_engine_save(handle);
        if (length < 0) {
            throw new ClientException(error());
        }
        wrap(length);
    }

    private void wrap(final long length) {
        // An int: EngineShape keeps a saved engine, and so all events of a command, below 2 GiB.
        output.wrap(Functions.tickpath_engine_output(handle), Math.toIntExact(Math.max(0, length)));
    }

    /** The events of the last command, or the last saved state; valid until the next call. */
    DirectBuffer output() {
        return output;
    }

    /** The number of the last command, from 1. */
    long sequence() {
        return Functions.tickpath_engine_sequence(handle);
    }

    long stateHash() {
        return Functions.tickpath_engine_state_hash(handle);
    }

    /** The last failure of this thread. */
    String error() {
        return lastError();
    }

    /** The last failure of any function in this thread. */
    static String lastError() {
        return Functions.tickpath_engine_error();
    }

    @Override
    public void close() {
        Functions.tickpath_engine_free(handle);
        handle = 0;
    }

    /** Pointers are longs: JNA's direct mapping passes numbers without objects. */
    private static final class Functions {
        static native int tickpath_engine_version();

        static native long tickpath_engine_new(
                short instruments, int openOrders, int priceLevels, int stopLevels, int expiringOrders, int accounts);

        static native long tickpath_engine_restore(long bytes, long length);

        static native long tickpath_engine_apply(long handle, long record, long timeNs);

        static native long tickpath_engine_save(long handle);

        static native long tickpath_engine_output(long handle);

        static native long tickpath_engine_sequence(long handle);

        static native long tickpath_engine_state_hash(long handle);

        static native String tickpath_engine_error();

        static native void tickpath_engine_free(long handle);
    }
}
