package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class WebSocketTest {
    @Test
    void framesAreTheGoldenBytes() throws IOException {
        final byte[] ping = "tick".getBytes(StandardCharsets.US_ASCII);
        assertArrayEquals(Vectors.bytes("ping.client.frame"), WebSocket.clientFrame(WebSocket.PING, ping, Vectors.MASK));
    }

    @Test
    void theUpgradeIsTheGoldenOne() throws IOException {
        final String key = "dGhlIHNhbXBsZSBub25jZQ==";
        assertEquals(Vectors.text("upgrade_request.http"), WebSocket.upgradeRequest("127.0.0.1:8888", key));
        final String response = Vectors.text("upgrade_response.http").strip();
        assertNull(WebSocket.complaintAboutUpgrade(response, key));
        assertNotNull(WebSocket.complaintAboutUpgrade(response, "c29tZSBvdGhlciBrZXk="));
        final String rejected = WebSocket.complaintAboutUpgrade("HTTP/1.1 503 Service Unavailable", key);
        assertTrue(rejected.contains("503 Service Unavailable"), rejected);
        assertTrue(WebSocket.complaintAboutUpgrade("SSH-2.0-OpenSSH", key).contains("not HTTP"));
    }
}
