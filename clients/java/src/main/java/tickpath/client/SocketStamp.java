package tickpath.client;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;

/**
 * The stamps of a connection, at the end of the pipeline that is next to the socket: below TLS. The
 * service time includes Netty's work between them and the system call; an outside observer measures
 * it.
 */
final class SocketStamp extends ChannelDuplexHandler {
    private final Clock clock;
    private long readNs;
    private long flushNs;

    SocketStamp(final Clock clock) {
        this.clock = clock;
    }

    /** RECEIVE: Netty has just returned from the read. */
    @Override
    public void channelRead(final ChannelHandlerContext context, final Object read) {
        readNs = clock.nowNs();
        context.fireChannelRead(read);
    }

    /** SEND: Netty writes next. */
    @Override
    public void flush(final ChannelHandlerContext context) {
        flushNs = clock.nowNs();
        context.flush();
    }

    /** Stamp of the last read. */
    long readNs() {
        return readNs;
    }

    /** Stamp of the last flush. */
    long flushNs() {
        return flushNs;
    }
}
