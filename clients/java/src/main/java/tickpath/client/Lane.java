package tickpath.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** One connection: its unread input, its unsent output, and the messages that wait for replies. */
final class Lane extends ChannelInboundHandlerAdapter {
    /** Limit on unwritten bytes. Above it the desk sends nothing, and messages are late. */
    static final int WAITING_BYTES_MAX = 32 * 1024;

    /** Capacity: the limit, the message that passes it, and pongs. */
    private static final int CAPACITY_BYTES = 2 * WAITING_BYTES_MAX;

    private static final int MESSAGES_MAX = CAPACITY_BYTES / 64;

    final int index;
    final SocketStamp stamp;
    Channel channel;

    /** Whether the lane is in the desk's list of lanes to write. */
    boolean dirty;

    int unanswered;
    /** Time of the last read with data, or of the first message since all replies had arrived. */
    long quietSinceNs;
    /** The highest sequence number answered so far, to detect replies out of order. */
    long answeredSequence;

    private final StreamReader reader;
    /** Null while logging on. */
    private Desk desk;
    /** The reason of the connection's end; null while it is open. */
    private String ended;

    /** The buffer to encode into, and the one that Netty writes; each flush swaps them. */
    private ByteBuf filling = Unpooled.directBuffer(CAPACITY_BYTES, CAPACITY_BYTES);
    private ByteBuf writing = Unpooled.directBuffer(CAPACITY_BYTES, CAPACITY_BYTES);
    /** The messages in them: twice the order's number, plus 1 for a cancel. */
    private long[] fillingMessages = new long[MESSAGES_MAX];
    private long[] writingMessages = new long[MESSAGES_MAX];
    private int fillingCount;
    private int writingCount;

    Lane(final int index, final StreamReader reader, final Clock clock) {
        this.index = index;
        this.reader = reader;
        stamp = new SocketStamp(clock);
    }

    void attach(final Desk newDesk) {
        desk = newDesk;
        if (ended != null) {
            desk.fail(this, ended);
        }
    }

    @Override
    public void channelRead(final ChannelHandlerContext context, final Object read) {
        final ByteBuf bytes = (ByteBuf) read;
        try {
            reader.fill(bytes, stamp.readNs());
        } finally {
            bytes.release();
        }
        if (desk != null) {
            desk.received(this);
        }
    }

    @Override
    public void channelInactive(final ChannelHandlerContext context) {
        end("the other end closed it");
    }

    @Override
    public void exceptionCaught(final ChannelHandlerContext context, final Throwable cause) {
        end(ErrorText.of(cause));
        context.close();
    }

    private void end(final String why) {
        if (ended == null) {
            ended = why;
            if (desk != null) {
                desk.fail(this, why);
            }
        }
    }

    String ended() {
        return ended;
    }

    boolean isFull(final int unansweredMax) {
        return filling.readableBytes() > WAITING_BYTES_MAX || fillingCount == MESSAGES_MAX || unanswered >= unansweredMax;
    }

    /** Appends a message of a load; {@code message} as in the arrays above. */
    void append(final byte[] bytes, final int length, final long message) {
        filling.writeBytes(bytes, 0, length);
        fillingMessages[fillingCount++] = message;
    }

    /** Appends bytes of another kind, such as a pong or a log-on. */
    void append(final byte[] bytes) {
        filling.writeBytes(bytes);
    }

    /**
     * Writes what was appended, in one call if the socket takes it.
     *
     * @return false if the last batch is not written yet; then try again
     */
    boolean flush() {
        if (writing.refCnt() > 1) {
            return false;
        }
        final ByteBuf batch = filling;
        filling = writing;
        writing = batch;
        filling.clear();
        final long[] messages = fillingMessages;
        fillingMessages = writingMessages;
        writingMessages = messages;
        writingCount = fillingCount;
        fillingCount = 0;
        // Netty releases it when it is written.
        channel.writeAndFlush(batch.retain(), channel.voidPromise());
        return true;
    }

    /** Messages of the last flush. */
    int flushed() {
        return writingCount;
    }

    long flushed(final int position) {
        return writingMessages[position];
    }
}
