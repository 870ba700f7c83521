package tickpath.cluster;

import io.aeron.cluster.client.AeronCluster;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.CloseHelper;

/**
 * The process beside an exchange: to the exchange it is its follower, and each connection is
 * relayed to a cluster whose members keep the copies.
 *
 * <p>See docs/decisions/040-the-copy-in-a-cluster.md.
 */
final class FollowerGateway implements AutoCloseable {
    /** Connections at the same time; an exchange has one, or two for a moment. */
    private static final int CONNECTIONS_MAX = 16;

    private final ClusterFile cluster;
    private final String host;
    private final PrintStream err;
    private final ServerSocketChannel listener;
    private final ClusterClient client;
    private final Set<Relay> relays = ConcurrentHashMap.newKeySet();
    private volatile boolean isClosed;

    /**
     * Listens on the loopback interface.
     *
     * @param host where the cluster reaches this machine
     * @param port for the exchange; 0: any
     */
    FollowerGateway(final ClusterFile cluster, final String host, final int port, final PrintStream err)
            throws IOException {
        this.cluster = cluster;
        this.host = host;
        this.err = err;
        listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        client = new ClusterClient(memory(ProcessHandle.current().pid()));
    }

    /** The directory of its media driver. */
    static Path memory(final long process) {
        return Main.MEMORY.resolve("tickpath-cluster-follower-" + process);
    }

    /** Where it listens. */
    String address() throws IOException {
        final InetSocketAddress address = (InetSocketAddress) listener.getLocalAddress();
        return address.getAddress().getHostAddress() + ":" + address.getPort();
    }

    /** Waits until the cluster has a leader. An exchange that connects meanwhile waits, too. */
    void awaitLeader() {
        String said = null;
        while (!isClosed) {
            try {
                ClusterClient.connect(session(), () -> isClosed).close();
                return;
            } catch (final IOException e) {
                if (!e.getMessage().equals(said)) {
                    said = e.getMessage();
                    err.println("java-cluster: " + said + ": waiting for most of its members");
                }
            }
        }
    }

    /** A session that nothing is sent in. */
    private AeronCluster.Context session() {
        return ClusterClient.session(
                client.aeron(),
                cluster,
                host,
                Relay.PATIENCE_NS,
                (session, time, reply, offset, length, header) -> {});
    }

    /** Relays connections until it is closed. */
    void run() throws IOException {
        while (true) {
            final SocketChannel channel;
            try {
                channel = listener.accept();
            } catch (final ClosedChannelException e) {
                return;
            }
            if (relays.size() == CONNECTIONS_MAX) {
                err.println("java-cluster: closing a connection: " + CONNECTIONS_MAX + " are open");
                channel.close();
                continue;
            }
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            channel.configureBlocking(false);
            final Relay relay = new Relay(channel, client.aeron(), cluster, host);
            relays.add(relay);
            final Thread thread = new Thread(() -> relay(relay, String.valueOf(channel.socket().getRemoteSocketAddress())));
            thread.setName("relay");
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void relay(final Relay relay, final String peer) {
        try {
            relay.run();
        } catch (final IOException | RuntimeException e) {
            // Whatever it was: the exchange connects again, and goes on from where the copies are.
            err.println("java-cluster: the connection from " + peer + " ended: " + e.getMessage());
        } finally {
            CloseHelper.quietClose(relay);
            relays.remove(relay);
        }
    }

    @Override
    public void close() {
        isClosed = true;
        CloseHelper.closeAll(listener);
        relays.forEach(Relay::stop);
        final long begin = System.nanoTime();
        while (!relays.isEmpty() && System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(1)) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
        }
        client.close();
    }
}
