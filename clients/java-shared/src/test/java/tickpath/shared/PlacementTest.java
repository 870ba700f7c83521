package tickpath.shared;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PlacementTest {
    /** A core that no machine has. */
    private static final OptionalInt ABSENT_CORE = OptionalInt.of(PlanKeys.CORE_MAX);

    @Test
    void pinsTheThreadThatIsNamed() throws Exception {
        final int core = Placement.allowedCores().previousSetBit(PlanKeys.CORE_MAX);
        final FutureTask<BitSet> pinned = new FutureTask<>(() -> {
            Placement.pin(Placement.threadId(), OptionalInt.of(core));
            return Placement.allowedCores();
        });
        new Thread(pinned).start();
        final BitSet only = new BitSet();
        only.set(core);
        assertEquals(only, pinned.get(1, TimeUnit.MINUTES));
    }

    @Test
    void withoutACoreOrAClassNothingChanges() throws ClientException, IOException {
        final BitSet before = Placement.allowedCores();
        Placement.pin(Placement.threadId(), OptionalInt.empty());
        Placement.schedule(Placement.threadId(), Scheduling.INHERITED);
        assertEquals(before, Placement.allowedCores());
        assertTrue(Files.exists(Path.of("/proc/self/task", Long.toString(Placement.threadId()))));
    }

    @Test
    void errorsHaveTheCommandAndItsOutput() throws IOException {
        final long thread = Placement.threadId();
        final String message = assertThrows(ClientException.class, () -> Placement.pin(thread, ABSENT_CORE)).getMessage();
        assertTrue(message.startsWith("can't pin a thread to core 4095: taskset -pc 4095 " + thread + ": "), message);
    }

    @Test
    void anUnpinnedMeasuringThreadTakesACore() throws ClientException, IOException {
        final int cores = Placement.allowedCores().cardinality();
        assertFalse(Placement.leaveCores(Collections.nCopies(cores, OptionalInt.empty())));
        assertEquals(cores > 1, Placement.leaveCores(List.of(OptionalInt.empty())));
        assertTrue(Placement.leaveCores(List.of(ABSENT_CORE)));
    }
}
