package tickpath.client;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
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
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import tickpath.shared.ClientException;
import tickpath.shared.Json;

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
    private final Forms forms;
    private final Clock clock;
    private final Tls tls;
    private final Stop stop;
    private final SplitMix64 masks;

    LogOn(final ManualIoEventLoop loop, final Transport transport, final Plan plan, final Forms forms, final Clock clock,
            final Stop stop) throws ClientException {
        this.loop = loop;
        this.transport = transport;
        this.plan = plan;
        this.forms = forms;
        this.clock = clock;
        this.stop = stop;
        tls = plan.tls() == null ? null : new Tls(plan);
        masks = new SplitMix64((long) forms.nonce() << 32);
    }

    /** Opens all connections of the plan, and logs on their accounts. */
    List<Lane> lanes() throws ClientException {
        final List<Lane> lanes = new ArrayList<>();
        for (int index = 0; index < plan.load().connections(); index++) {
            final Lane lane = new Lane(index, clock);
            try {
                lane.channel = connect(lane);
                upgrade(lane);
                authenticate(lane);
            } catch (final Failure e) {
                throw new ClientException("connection " + index + " to " + target() + ": " + e.getMessage(), e);
            }
            lanes.add(lane);
        }
        return lanes;
    }

    /** A connection can't be opened, or an account can't log on. */
    private static final class Failure extends Exception {
        private static final long serialVersionUID = 1;

        Failure(final String why) {
            super(why);
        }
    }

    private String target() {
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

    private void upgrade(final Lane lane) throws Failure, ClientException {
        final String key = WebSocket.key(masks.bits(), masks.bits());
        lane.append(WebSocket.upgradeRequest(target(), key).getBytes(StandardCharsets.US_ASCII));
        turnUntil(lane::flush, "the last message");
        final String[] head = new String[1];
        turnUntil(lane, "the upgrade to a WebSocket", () -> (head[0] = lane.reader.httpHead()) != null);
        final String complaint = WebSocket.complaintAboutUpgrade(head[0], key);
        if (complaint != null) {
            throw new Failure(complaint);
        }
    }

    private void authenticate(final Lane lane) throws Failure, ClientException {
        final Plan.Load load = plan.load();
        final List<Integer> accounts = new ArrayList<>();
        for (int account = lane.index; account < load.accounts(); account += load.connections()) {
            accounts.add(account);
            final String token = Long.toString(load.firstToken() + account);
            send(lane, "{\"type\":\"AUTHENTICATE\",\"api_token\":\"" + token + "\"}");
            await(lane, "AUTHENTICATE", message -> "AUTHENTICATED".equals(Reply.string(message, "type")));
        }
        send(lane, "{\"type\":\"SUBSCRIBE\",\"channels\":[{\"name\":\"ORDERS\"}]}");
        final List<String> names = new ArrayList<>();
        await(lane, "SUBSCRIBE", message -> {
            if (!"SUBSCRIPTIONS".equals(Reply.string(message, "type"))) {
                return false;
            }
            final JsonElement channels = message.get("channels");
            for (final JsonElement channel : channels instanceof JsonArray list ? list : new JsonArray()) {
                final String name = channel.isJsonObject() ? Reply.string(channel.getAsJsonObject(), "account_id") : null;
                if (name != null) {
                    names.add(name);
                }
            }
            return true;
        });
        if (accounts.size() == 1) {
            return;
        }
        if (names.size() != accounts.size()) {
            throw new Failure(accounts.size() + " accounts logged on over one connection, but the exchange knows " + names.size()
                    + ": give each its own (load.connections = load.accounts)");
        }
        for (int index = 0; index < names.size(); index++) {
            forms.name(accounts.get(index), names.get(index));
        }
    }

    private void send(final Lane lane, final String text) throws Failure, ClientException {
        lane.append(WebSocket.clientFrame(WebSocket.TEXT, text.getBytes(StandardCharsets.UTF_8), (int) masks.bits()));
        turnUntil(lane::flush, "the last message");
    }

    /** Reads until a message satisfies {@code wanted}. */
    private void await(final Lane lane, final String asked, final Predicate<JsonObject> wanted) throws Failure, ClientException {
        final String[] wrong = new String[1];
        turnUntil(lane, asked, () -> {
            for (int opcode = lane.reader.next(); opcode != FrameReader.NONE; opcode = lane.reader.next()) {
                if (opcode == FrameReader.BROKEN) {
                    wrong[0] = lane.reader.complaint();
                } else if (opcode == WebSocket.CLOSE) {
                    wrong[0] = "the exchange closed it: " + lane.reader.closeReason();
                } else if (opcode == WebSocket.TEXT && isWanted(lane.reader, wanted, wrong)) {
                    return true;
                }
                if (wrong[0] != null) {
                    return true;
                }
            }
            return false;
        });
        if (wrong[0] != null) {
            throw new Failure(asked + ": " + wrong[0]);
        }
    }

    private static boolean isWanted(final FrameReader reader, final Predicate<JsonObject> wanted, final String[] wrong) {
        final String text = reader.text();
        try {
            final JsonObject message = Json.object(text);
            final String type = Reply.string(message, "type");
            if ("ERROR".equals(type)) {
                wrong[0] = "the exchange answers with an error: " + Reply.string(message, "reason");
            } else if (type == null) {
                wrong[0] = "a message has no type: " + text;
            }
            return wrong[0] != null || wanted.test(message);
        } catch (final com.google.gson.JsonParseException e) {
            wrong[0] = "a message is malformed: " + e.getMessage();
            return true;
        }
    }

    private void turnUntil(final Lane lane, final String what, final BooleanSupplier done) throws Failure, ClientException {
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
