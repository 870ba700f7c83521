package tickpath.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import tickpath.shared.ClientException;

/** The cost of encoding and decoding golden messages. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class CodecBench {
    private final ClientIds ids = new ClientIds(0x6f1c2a9e);
    private final SplitMix64 masks = new SplitMix64(1);
    private final byte[] out = new byte[1024];
    private final FrameReader reader = new FrameReader();
    private final Reply reply = new Reply();
    private Form order;
    private Form cancel;
    private ByteBuf booked;
    private ByteBuf cancelled;
    private long number;

    /** Reads the golden messages. */
    @Setup
    public void read() throws IOException, ClientException {
        final Plan.Load load = new Plans("ping-pong", 1, java.nio.file.Path.of("x.hlog")).plan().load();
        order = Form.order(load, ids.first(), null);
        cancel = Form.cancel(load, ids.first(), null);
        booked = frame("booked.json");
        cancelled = frame("done_cancelled.json");
    }

    private ByteBuf frame(final String name) throws IOException {
        final String ours = ids.first().substring(0, ClientIds.NUMBER_AT) + "00000000002a";
        final byte[] text = Vectors.text(name).replace(Vectors.CLIENT_ID, ours).getBytes(java.nio.charset.StandardCharsets.UTF_8);
        return Unpooled.directBuffer().writeByte(0x81).writeByte(126).writeShort(text.length).writeBytes(text);
    }

    /** An order into a frame. */
    @Benchmark
    public byte[] encodeOrder() {
        order.encode(out, number++, (int) masks.bits());
        return out;
    }

    /** A cancel into a frame. */
    @Benchmark
    public byte[] encodeCancel() {
        cancel.encode(out, number++, (int) masks.bits());
        return out;
    }

    /** The ack of an order, from Netty's buffer to the order's number. */
    @Benchmark
    public long decodeBooked() {
        return decode(booked);
    }

    /** The ack of a cancel. */
    @Benchmark
    public long decodeCancelled() {
        return decode(cancelled);
    }

    private long decode(final ByteBuf frame) {
        frame.readerIndex(0);
        reader.fill(frame, 1);
        reader.next();
        if (reply.read(reader.payload(), reader.payloadAt(), reader.payloadEnd()) != null) {
            throw new IllegalStateException("the reply is malformed");
        }
        final long decoded = reply.number(ids);
        if (decoded != 0x2a) {
            throw new IllegalStateException("the reply is to order " + decoded);
        }
        return decoded;
    }
}
