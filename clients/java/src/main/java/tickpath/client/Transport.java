package tickpath.client;

import io.netty.channel.DefaultSelectStrategyFactory;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringSocketChannel;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import tickpath.shared.ClientException;

/** Netty's socket backends. The client uses the requested one or ends: there is no fall-back. */
enum Transport {
    EPOLL(EpollSocketChannel.class) {
        @Override
        IoHandlerFactory handlers() {
            return EpollIoHandler.newFactory(EVENTS_AT_ONCE, DefaultSelectStrategyFactory.INSTANCE);
        }

        @Override
        Throwable unavailable() {
            return Epoll.unavailabilityCause();
        }
    },
    IO_URING(IoUringSocketChannel.class) {
        @Override
        IoHandlerFactory handlers() {
            return IoUringIoHandler.newFactory();
        }

        @Override
        Throwable unavailable() {
            return IoUring.unavailabilityCause();
        }
    },
    NIO(NioSocketChannel.class) {
        @Override
        IoHandlerFactory handlers() {
            return NioIoHandler.newFactory();
        }

        @Override
        Throwable unavailable() {
            return null;
        }
    };

    /** Reads between two checks of the schedule, as in the client in Rust. */
    private static final int EVENTS_AT_ONCE = 4;

    private final Class<? extends SocketChannel> channel;

    Transport(final Class<? extends SocketChannel> channel) {
        this.channel = channel;
    }

    /** The handler of an event loop's I/O. */
    abstract IoHandlerFactory handlers();

    /** The reason that it can't be used here; null if it can. */
    abstract Throwable unavailable();

    /** The class of its connections. */
    Class<? extends SocketChannel> channel() {
        return channel;
    }

    /**
     * Whether a flush only queues the write, which the next turn of the event loop submits to the
     * kernel.
     */
    boolean writesInNextTurn() {
        return this == IO_URING;
    }

    /** The name on the command line. */
    String option() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Transport parse(final String name) throws ClientException {
        for (final Transport transport : values()) {
            if (transport.option().equals(name)) {
                return transport;
            }
        }
        final String known = Arrays.stream(values()).map(Transport::option).collect(Collectors.joining(", "));
        throw new ClientException("there is no transport \"" + name + "\": give --transport one of " + known);
    }

    /** Throws if this kernel or machine does not have the transport. */
    void require() throws ClientException {
        final Throwable cause = unavailable();
        if (cause != null) {
            throw new ClientException("transport " + option() + " is not available here: " + ErrorText.of(cause)
                    + "; give --transport another one", cause);
        }
    }
}
