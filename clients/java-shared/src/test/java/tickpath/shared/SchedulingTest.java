package tickpath.shared;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SchedulingTest {
    @Test
    void readsTheClassesOfThePlan() throws ClientException {
        assertEquals(new Scheduling("--fifo", 1), Scheduling.parse("fifo:1"));
        assertEquals(new Scheduling("--rr", 99), Scheduling.parse("rr:99"));
        assertTrue(Scheduling.parse("fifo:1").isRealtime());
        assertFalse(Scheduling.parse("other").isRealtime());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "fifo", "fifo:0", "fifo:100", "rr:-1", "rr: 1", "idle", "FIFO:1", "other:1"})
    void rejectsAnythingElse(final String text) {
        final String message = assertThrows(ClientException.class, () -> Scheduling.parse(text)).getMessage();
        assertTrue(message.startsWith("`scheduling` is \"" + text + "\", and must be other, fifo:PRIORITY"), message);
    }
}
