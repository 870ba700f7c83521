package tickpath.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tickpath.shared.ClientException;

/** A cluster of processes that are killed. */
class ClusterTest {
    private static final EngineShape SHAPE = new EngineShape(1, 20_000, 1_000, 10, 10, 4);
    /** Long, because a member that was killed catches up on cores that others use as well. */
    private static final long WAIT_SECONDS_MAX = 300;
    private static final int ROUNDS = Integer.getInteger("tickpath.rounds", 2);

    @TempDir
    Path directory;

    @BeforeAll
    static void load() throws ClientException {
        Library.load();
    }

    /** Polls the load until something has happened. */
    private static void until(final Members members, final Load load, final String what, final BooleanSupplier happened) {
        final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS_MAX);
        while (!happened.getAsBoolean()) {
            assertTrue(
                    System.nanoTime() - deadline < 0,
                    () -> "not within " + WAIT_SECONDS_MAX + " s: " + what + "; " + load + "\n" + members.complaints());
            if (load.poll() == 0) {
                LockSupport.parkNanos(100_000);
            }
        }
    }

    /** Gives commands while something else happens, and waits for all replies. */
    private static void send(final Members members, final Load load, final int commands) {
        for (int sent = 0; sent < commands; sent++) {
            until(members, load, "room for a command", load::give);
        }
    }

    private static void settle(final Members members, final Load load) {
        until(members, load, "all replies", () -> load.unanswered() == 0);
    }

    /** All members have the same state: that of a replay of what was acknowledged. */
    private static long compare(final Members members, final Load load) {
        final long checkpoint = load.checkpoint();
        settle(members, load);
        until(members, load, "the checkpoint on all members", () -> {
            for (int member = 0; member < Members.COUNT; member++) {
                if (members.checkpoint(member, checkpoint).isEmpty()) {
                    return false;
                }
            }
            return true;
        });
        final String replayed = String.format("%016x", load.replay());
        for (int member = 0; member < Members.COUNT; member++) {
            for (final String hash : members.checkpoint(member, checkpoint)) {
                assertEquals(replayed, hash, "member " + member);
            }
        }
        return checkpoint;
    }

    /** The fault of a member in a round. */
    private enum Fault {
        /** It is killed, and started again once all replies are there. */
        KILLED,
        /** It is held up for longer than the heartbeat's timeout, and goes on. */
        HELD_UP
    }

    /**
     * The first rounds kill and hold up the leader; -Drounds=N adds others, of any member.
     */
    @Test
    void aMemberThatIsKilledOrHeldUpLosesAndDoublesNothingThatWasAcknowledged() throws Exception {
        final Random random = new Random(36);
        try (Members members = new Members(directory, SHAPE);
                Load load = new Load(members.cluster())) {
            members.startAll();
            until(members, load, "a leader", load::isReady);
            for (int round = 0; round < ROUNDS; round++) {
                final boolean atLeader = round < 2 || random.nextBoolean();
                final Fault fault = Fault.values()[round < 2 ? round : random.nextInt(2)];
                send(members, load, 2_000);
                final int leader = load.leader();
                final int member = atLeader ? leader : (leader + 1 + random.nextInt(2)) % Members.COUNT;
                assertTrue(load.unanswered() > 0, "commands must be on their way");
                strike(members, load, member, fault);
                if (atLeader) {
                    assertTrue(load.leader() != leader, "another member leads");
                }
                compare(members, load);
            }
        }
    }

    private static void strike(final Members members, final Load load, final int member, final Fault fault)
            throws IOException {
        if (fault == Fault.KILLED) {
            members.kill(member);
            send(members, load, 2_000);
            settle(members, load);
            members.start(member);
            return;
        }
        members.signal(member, "STOP");
        final long heldUntil = System.nanoTime() + 4 * members.cluster().heartbeatTimeoutNs();
        send(members, load, 2_000);
        settle(members, load);
        until(members, load, "the end of the hold", () -> System.nanoTime() - heldUntil > 0);
        members.signal(member, "CONT");
    }

    @Test
    void aClusterThatIsKilledWholeRecoversFromItsSnapshotAndItsLog()
            throws ClientException, IOException {
        try (Members members = new Members(directory, SHAPE)) {
            members.startAll();
            final long beforeSnapshot;
            final long afterSnapshot;
            final Load load = new Load(members.cluster());
            try (load) {
                until(members, load, "a leader", load::isReady);
                send(members, load, 1_500);
                beforeSnapshot = compare(members, load);
                assertTrue(members.snapshot(load.leader()), members::complaints);
                send(members, load, 500);
                afterSnapshot = compare(members, load);
            }
            members.killAll();
            members.startAll();
            try (Load again = load.resumed(members.cluster())) {
                until(members, again, "the gateway's numbers", again::isReady);
                send(members, again, 500);
                compare(members, again);
            }
            for (int member = 0; member < Members.COUNT; member++) {
                assertEquals(1, members.checkpoint(member, beforeSnapshot).size(), "in the snapshot: not replayed");
                final List<String> replayed = members.checkpoint(member, afterSnapshot);
                assertEquals(2, replayed.size(), "after the snapshot: replayed");
                assertArrayEquals(new String[] {replayed.get(0), replayed.get(0)}, replayed.toArray());
            }
        }
    }

    /** The heartbeat's timeout of the file is far above what an ordinary command takes. */
    @Test
    void aLoadOnAScheduleShowsTheChangeOfLeaderAsResponseTime() throws Exception {
        final int rate = 500;
        final double seconds = 4;
        try (Members members = new Members(directory, SHAPE);
                Measure measure = new Measure(members.cluster(), 1, "127.0.0.1", () -> false)) {
            members.startAll();
            final CompletableFuture<Void> killer = CompletableFuture.runAsync(() -> {
                while (measure.answered() < rate) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
                }
                members.kill(members.leader());
            });
            final JsonObject result = measure.run(rate, 0.5, seconds);
            killer.join();
            assertEquals(rate * seconds, result.get("sent").getAsDouble(), result::toString);
            assertEquals(result.get("sent"), result.get("answered"), result::toString);
            assertTrue(result.get("leaders").getAsInt() >= 2, result::toString);
            // One that failed has no leader.
            final int changes = result.get("leaders").getAsInt() - 1;
            assertTrue(result.get("votes").getAsInt() >= changes, result::toString);
            final double timeoutMs = members.cluster().heartbeatTimeoutNs() / 1e6;
            assertTrue(result.get("longest_pause_ms").getAsDouble() > timeoutMs / 2, result::toString);
            final double maxMs = result.getAsJsonObject("response_us").get("max").getAsDouble() / 1e3;
            assertTrue(maxMs > timeoutMs / 2, result::toString);
            assertTrue(result.getAsJsonObject("response_us").get("p99_9").isJsonNull(), "2000 samples don't have it");
        }
    }

    @Test
    void theEchoAnswersTheSameLoad() throws Exception {
        try (Members members = new Members(directory, SHAPE);
                Measure measure = new Measure(members.cluster(), 1, "127.0.0.1", () -> false)) {
            members.startAll("echo-member");
            final JsonObject result = measure.run(500, 0.5, 1);
            assertEquals(500, result.get("answered").getAsInt(), result::toString);
        }
    }

    /** Members and loads that are told to end close what they have opened, and leave no memory. */
    @Test
    void aProcessThatIsToldToEndLeavesNothingInMemory() throws Exception {
        try (Members members = new Members(directory, SHAPE)) {
            members.startAll();
            try (Load load = new Load(members.cluster())) {
                until(members, load, "a leader", load::isReady);
                send(members, load, 100);
                compare(members, load);
                final long gateway = 2;
                final Process measuring = members.measure(gateway);
                final Path memory = Measure.memory(measuring.pid(), gateway);
                until(members, load, "the load's media driver", () -> Files.exists(memory));
                assertEquals(Members.TERMINATED, Members.terminate(measuring), members::complaints);
                assertFalse(Files.exists(memory), memory::toString);
            }
            for (int member = 0; member < Members.COUNT; member++) {
                assertEquals(Members.TERMINATED, members.terminate(member), members::complaints);
                assertFalse(Files.exists(Main.memory(members.cluster().members().get(member))));
            }
        }
    }
}
