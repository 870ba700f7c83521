package tickpath.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import tickpath.shared.ClientException;

/** The gateway without a cluster. Whole processes: crates/tickpath/tests/it/failover/cluster.rs. */
class FollowerGatewayTest {
    @Test
    void aConnectionThatIsNoneOfAnExchangeIsClosedBeforeItReachesTheCluster()
            throws ClientException, IOException, InterruptedException {
        final ClusterFile cluster = ClusterFile.parse("{\"members\":\"127.0.0.1:9\"}");
        final ByteArrayOutputStream said = new ByteArrayOutputStream();
        final FollowerGateway gateway =
                new FollowerGateway(cluster, "127.0.0.1", 0, new PrintStream(said, true, StandardCharsets.UTF_8));
        final Thread running = new Thread(() -> {
            try {
                gateway.run();
            } catch (final IOException e) {
                e.printStackTrace(new PrintStream(said, true, StandardCharsets.UTF_8));
            }
        });
        running.start();
        final int port = Integer.parseInt(gateway.address().split(":")[1]);
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.UTF_8));
            assertEquals(-1, socket.getInputStream().read());
        } finally {
            gateway.close();
        }
        running.join();
        final String text = said.toString(StandardCharsets.UTF_8);
        assertTrue(text.contains("it is not from an exchange"), text);
    }
}
