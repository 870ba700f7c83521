package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ClientIdsTest {
    /**
     * Two containers of a fleet had the same process id and began together: the exchange rejected
     * one client's orders as duplicates of the other's.
     */
    @Test
    void runsThatBeginTogetherHaveDifferentClientIds() {
        assertEquals(100, IntStream.range(0, 100).map(run -> ClientIds.nonce()).distinct().count());
    }

    @Test
    void otherClientIdsAreForeign() {
        final ClientIds ids = new ClientIds(7);
        final byte[] other = new ClientIds(8).first().getBytes(StandardCharsets.US_ASCII);
        assertEquals(ClientIds.FOREIGN, ids.number(other, 0, other.length));
        final byte[] own = ids.first().getBytes(StandardCharsets.US_ASCII);
        assertEquals(0, ids.number(own, 0, own.length));
        assertEquals(ClientIds.FOREIGN, ids.number(own, 0, own.length - 1));
        own[30] = 'G';
        assertEquals(ClientIds.FOREIGN, ids.number(own, 0, own.length));
    }
}
