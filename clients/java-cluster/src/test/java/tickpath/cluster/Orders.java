package tickpath.cluster;

import java.nio.ByteOrder;
import org.agrona.concurrent.UnsafeBuffer;

/** Records of commands, by the table of the crate engine's module codec. */
final class Orders {
    private static final ByteOrder LITTLE = ByteOrder.LITTLE_ENDIAN;
    private static final byte ORDER = 1;
    private static final byte CANCEL = 3;

    private Orders() {}

    /** An order whose id the cluster gives it. */
    static UnsafeBuffer order(final boolean sell, final int account, final int tag, final long price, final long lots) {
        final UnsafeBuffer record = record(ORDER, account, tag, 0);
        record.putByte(9, (byte) (sell ? 1 : 0));
        record.putLong(32, price, LITTLE);
        record.putLong(40, lots, LITTLE);
        return record;
    }

    static UnsafeBuffer cancel(final int account, final int tag, final long orderId) {
        return record(CANCEL, account, tag, orderId);
    }

    private static UnsafeBuffer record(final byte kind, final int account, final int tag, final long orderId) {
        final UnsafeBuffer record = new UnsafeBuffer(new byte[NativeEngine.RECORD_BYTES]);
        record.putByte(8, kind);
        record.putInt(16, account, LITTLE);
        record.putInt(20, tag, LITTLE);
        record.putLong(24, orderId, LITTLE);
        return record;
    }
}
