package tickpath.client;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.ManualIoEventLoop;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import tickpath.shared.ClientException;

/** Connects and logs on, one connection after the other, on the measuring thread. */
final class LogOn {
    /** Limit on one read: Netty keeps freed buffers up to this size for their thread. */
    private static final int READ_BYTES_MAX = 32 * 1024;

    /** Time limit of connecting, and of each step of logging on. */
    private static final int STEP_MILLIS_MAX = 5_000;

    private static final long TURN_NS_MAX = 10_000_000;

    private final ManualIoEventLoop loop;
    private final Transport transport;
    private final Plan plan;
    private final Dialect dialect;
    private final Clock clock;
    private final Tls tls;
    private final Stop stop;

    LogOn(final ManualIoEventLoop loop, final Transport transport, final Plan plan, final Dialect dialect, final Clock clock,
            final Stop stop) throws ClientException {
        this.loop = loop;
        this.transport = transport;
        this.plan = plan;
        this.dialect = dialect;
        this.clock = clock;
        this.stop = stop;
        tls = plan.tls() == null ? null : new Tls(plan);
    }

    /** Opens all connections of the plan, and logs on their accounts. */
    List<Lane> lanes() throws ClientException {
        final List<Lane> lanes = new ArrayList<>();
        for (int index = 0; index < plan.load().connections(); index++) {
            final Lane lane = new Lane(index, dialect.reader(index), clock);
            try {
                lane.channel = connect(lane);
                dialect.logOn(this, lane);
            } catch (final Failure e) {
                throw new ClientException("connection " + index + " to " + target() + ": " + e.getMessage(), e);
            }
            lanes.add(lane);
        }
        return lanes;
    }

    /** A connection can't be opened, or an account can't log on. */
    static final class Failure extends Exception {
        private static final long serialVersionUID = 1;

        Failure(final String why) {
            super(why);
        }
    }

    /** {@code HOST:PORT} of the exchange. */
    String target() {
        return (plan.host().contains(":") ? "[" + plan.host() + "]" : plan.host()) + ":" + plan.port();
    }

    private Channel connect(final Lane lane) throws Failure, ClientException {
        final Bootstrap bootstrap = new Bootstrap()
                .group(loop)
                .channel(transport.channel())
                .option(ChannelOption.TCP_NODELAY, true)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, STEP_MILLIS_MAX)
                .option(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
                .option(ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(READ_BYTES_MAX))
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(final Channel channel) {
                        channel.pipeline().addLast(lane.stamp);
                        if (tls != null) {
                            channel.pipeline().addLast(tls.handler(channel.alloc()));
                        }
                        channel.pipeline().addLast(lane);
                    }
                });
        final ChannelFuture connected = bootstrap.connect(plan.host(), plan.port());
        turnUntil(connected::isDone, "the connection");
        if (!connected.isSuccess()) {
            throw new Failure(ErrorText.of(connected.cause()) + "; is an exchange running there?");
        }
        final SslHandler secure = connected.channel().pipeline().get(SslHandler.class);
        if (secure != null) {
            final Future<Channel> shaken = secure.handshakeFuture();
            turnUntil(shaken::isDone, "the TLS handshake");
            if (!shaken.isSuccess()) {
                throw new Failure(tls.sentence(shaken.cause()));
            }
        }
        return connected.channel();
    }

    /** Sends bytes of the log-on. */
    void send(final Lane lane, final byte[] bytes) throws Failure, ClientException {
        lane.append(bytes);
        turnUntil(lane::flush, "the last message");
    }

    /** Turns the event loop until {@code done}, which reads what arrived on the lane. */
    void turnUntil(final Lane lane, final String what, final BooleanSupplier done) throws Failure, ClientException {
        final boolean[] isDone = new boolean[1];
        turnUntil(() -> (isDone[0] = done.getAsBoolean()) || lane.ended() != null, what);
        if (!isDone[0]) {
            throw new Failure(what + ": " + lane.ended() + " instead of answering: the server may not know this message");
        }
    }

    private void turnUntil(final BooleanSupplier done, final String what) throws Failure, ClientException {
        final long deadlineNs = clock.nowNs() + STEP_MILLIS_MAX * 1_000_000L;
        while (!done.getAsBoolean()) {
            if (stop.isSet()) {
                throw new ClientException("interrupted while connecting; nothing was measured");
            }
            if (clock.nowNs() > deadlineNs) {
                throw new Failure("no answer to " + what + " within " + STEP_MILLIS_MAX / 1000 + " s");
            }
            loop.run(TURN_NS_MAX);
        }
    }
}
