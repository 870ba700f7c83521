package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import tickpath.shared.ClientException;

class PlanTest {
    private static Plans plans() {
        return new Plans("open", 4000, Path.of("x.hlog"));
    }

    private static void assertRejected(final String why, final Plans plans) {
        final String message = assertThrows(ClientException.class, plans::plan).getMessage();
        assertTrue(message.contains(why), message);
    }

    @Test
    void aPlanIsReadAndUnknownKeysAreIgnored() throws ClientException {
        final Plan plan = plans().with("core", 1).with("backend", "spin").with("scheduling", "fifo:10").with("new", 1).plan();
        assertEquals("127.0.0.1", plan.host());
        assertEquals(4000, plan.port());
        assertEquals(1, plan.core().getAsInt());
        assertTrue(plan.spins() && plan.scheduling().isRealtime() && plan.load().open());
        assertTrue(!plans().plan().spins() && plans().plan().core().isEmpty());
        assertTrue(plans().with("progress", true).plan().progress() && !plan.progress());
        assertEquals("::1", plans().with("target", "[::1]:80").plan().host());
    }

    @Test
    void theBackendChoosesTheTransportUnlessTheCommandDoes() throws ClientException {
        final Plan sleeping = plans().with("backend", "io_uring").plan();
        final Plan spinning = plans().with("backend", "io_uring_spin").plan();
        assertTrue(!sleeping.spins() && spinning.spins());
        final Main.Options free = Main.Options.parse(new String[] {"--plan", "-"});
        assertEquals(Transport.EPOLL, free.transport(plans().plan()));
        assertEquals(Transport.IO_URING, free.transport(sleeping));
        assertEquals(Transport.IO_URING, free.transport(spinning));
        final Main.Options uring = Main.Options.parse(new String[] {"--transport", "io_uring", "--plan", "-"});
        assertEquals(Transport.IO_URING, uring.transport(plans().plan()));
        assertEquals(Transport.IO_URING, uring.transport(sleeping));
        final Main.Options nio = Main.Options.parse(new String[] {"--transport", "nio", "--plan", "-"});
        assertEquals(Transport.NIO, nio.transport(plans().plan()));
        final String message = assertThrows(ClientException.class, () -> nio.transport(spinning)).getMessage();
        assertTrue(message.contains("`backend` is io_uring's") && message.contains("--transport nio"), message);
    }

    @Test
    void plansThatTheClientCannotCarryOutAreRejected() {
        assertRejected("this client has spin, block, io_uring, io_uring_spin", plans().with("backend", "spin2"));
        assertRejected("speaks websocket-json and sbe", plans().with("wire", "raw"));
        assertRejected("a session of SBE has one account", plans().with("wire", "sbe").withLoad("connections", 2));
        assertRejected("`inject`", plans().with("inject", new int[] {1}));
        assertRejected("HOST:PORT", plans().with("target", "4000"));
        assertRejected("its port", plans().with("target", "localhost:x"));
        assertRejected("other, fifo:PRIORITY", plans().with("scheduling", "idle"));
        assertRejected("no `load`", plans().without("load"));
        assertRejected("open and ping-pong", plans().withLoad("model", "closed"));
        assertRejected("`load.connections` is 5", plans().withLoad("connections", 5));
        assertRejected("`load.cancel_after` is 0", plans().withLoad("cancel_after", 0));
        assertRejected("`load.rate_per_second` is 0", plans().withLoad("rate_per_second", 0));
        assertRejected("uniform, poisson or burst", plans().withLoad("arrival", "even"));
        assertRejected("`seconds` is \"1\"", plans().with("seconds", "1"));
    }

    @Test
    void progressIsTrueOrFalse() {
        assertRejected("`progress` is 1, and must be true or false", plans().with("progress", 1));
    }

    @Test
    void messagesAreWholeBlocks() throws ClientException {
        final Plan.Load load = plans().withLoad("cancel_after", 5).withLoad("rate_per_second", 1001).plan().load();
        assertEquals(1010, load.messages(1));
        assertEquals(0, load.messages(0));
    }
}
