package tickpath.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tickpath.shared.ClientException;

/** The replicated machine without Aeron: what comes again, early, late, or wrong. */
class MachineTest {
    private static final ByteOrder LITTLE = ByteOrder.LITTLE_ENDIAN;
    private static final long GATEWAY = 7;

    private final List<UnsafeBuffer> sent = new ArrayList<>();
    private final List<String> checkpoints = new ArrayList<>();
    private int room = Integer.MAX_VALUE;
    private Machine machine;
    private long timeNs;

    @BeforeEach
    void create() throws ClientException {
        Library.load();
        machine = new Machine(NativeEngine.create(Library.SHAPE), this::reached);
    }

    @AfterEach
    void close() {
        machine.close();
    }

    private void reached(final long gateway, final long number, final long sequence, final long stateHash) {
        checkpoints.add(gateway + " " + number + " " + sequence + " " + stateHash);
    }

    private boolean send(final DirectBuffer message, final int length) {
        if (room == 0) {
            return false;
        }
        room--;
        final UnsafeBuffer copy = new UnsafeBuffer(new byte[length]);
        copy.putBytes(0, message, 0, length);
        sent.add(copy);
        return true;
    }

    private static UnsafeBuffer message(final long gateway, final long number, final long done, final DirectBuffer record) {
        final int length = record == null ? Messages.BARE_BYTES : Messages.COMMAND_BYTES;
        final UnsafeBuffer message = new UnsafeBuffer(new byte[length]);
        message.putLong(Messages.GATEWAY, gateway, LITTLE);
        message.putLong(Messages.NUMBER, number, LITTLE);
        message.putLong(Messages.DONE, done, LITTLE);
        if (record != null) {
            message.putBytes(Messages.RECORD, record, 0, record.capacity());
        }
        return message;
    }

    private String receive(final UnsafeBuffer message) {
        timeNs += 1_000;
        return machine.receive(message, 0, message.capacity(), timeNs, this::send);
    }

    private void order(final long number, final long done) {
        assertNull(receive(message(GATEWAY, number, done, Orders.order(false, 1, (int) number, 100, 5))));
    }

    private UnsafeBuffer onlyReply() {
        assertEquals(1, sent.size(), "replies");
        return sent.remove(0);
    }

    @Test
    void anOrderIsExecutedOnceAndAnsweredAsOftenAsItComes() {
        order(1, 0);
        final UnsafeBuffer first = onlyReply();
        assertEquals(1, first.getLong(Messages.SEQUENCE, LITTLE));
        assertEquals(1_000, first.getLong(Messages.TIME, LITTLE));
        assertEquals(1, first.getInt(Messages.EVENTS, LITTLE));
        assertEquals(1, first.getByte(Messages.BODY + 8), "booked");
        assertEquals(1, first.getLong(Messages.BODY + 24, LITTLE), "its id is its number in the cluster");
        order(1, 0);
        assertEquals(first, onlyReply(), "the same bytes");
        order(2, 0);
        assertEquals(2, onlyReply().getLong(Messages.SEQUENCE, LITTLE));
    }

    @Test
    void aReplyThatTheGatewayHasIsForgotten() {
        order(1, 0);
        order(2, 1);
        sent.clear();
        order(1, 0);
        assertEquals(List.of(), sent);
        order(2, 1);
        assertEquals(2, onlyReply().getLong(Messages.NUMBER, LITTLE));
    }

    @Test
    void aCommandBeforeItsTurnWaitsForTheOnesBeforeIt() {
        order(2, 0);
        assertEquals(List.of(), sent);
        order(1, 0);
        order(2, 0);
        assertEquals(List.of(1L, 2L), sent.stream().map(one -> one.getLong(Messages.SEQUENCE, LITTLE)).toList());
    }

    @Test
    void aGatewayThatNeverSaysWhatItHasIsStoppedByTheWindow() {
        for (int number = 1; number <= Messages.WINDOW; number++) {
            order(number, 0);
        }
        assertEquals(Messages.WINDOW, sent.size());
        order(Messages.WINDOW + 1, 0);
        assertEquals(Messages.WINDOW, sent.size(), "the window is full");
        order(Messages.WINDOW + 1, 1);
        assertEquals(Messages.WINDOW + 1, sent.size());
    }

    @Test
    void aReplyOfManyEventsTakesSeveralMessagesAndComesAgainWhole() {
        final int orders = 150;
        for (int number = 1; number <= orders; number++) {
            order(number, number - 1);
        }
        sent.clear();
        final UnsafeBuffer sell = message(GATEWAY, orders + 1, orders, Orders.order(true, 2, 9, 100, 5L * orders));
        room = 2;
        assertNull(receive(sell));
        assertEquals(2, sent.size(), "there was no room for more");
        room = Integer.MAX_VALUE;
        sent.clear();
        assertNull(receive(sell));
        // A trade and the end of each order that rested, and the end of this one.
        assertEquals(2 * orders + 1, sent.get(0).getInt(Messages.EVENTS, LITTLE));
        int events = 0;
        for (final UnsafeBuffer part : sent) {
            assertEquals(events, part.getInt(Messages.EARLIER, LITTLE));
            events += (part.capacity() - Messages.BODY) / NativeEngine.RECORD_BYTES;
        }
        assertEquals(2 * orders + 1, events);
    }

    @Test
    void aCheckpointHasTheStateHashAndTakesNoNumberOfTheCluster() {
        order(1, 0);
        sent.clear();
        assertNull(receive(message(GATEWAY, 2, 1, null)));
        final UnsafeBuffer reply = onlyReply();
        assertEquals(1, reply.getLong(Messages.SEQUENCE, LITTLE));
        assertEquals(List.of("7 2 1 " + reply.getLong(Messages.BODY, LITTLE)), checkpoints);
        order(3, 2);
        assertEquals(2, onlyReply().getLong(Messages.SEQUENCE, LITTLE));
    }

    @Test
    void aNewProcessOfAGatewayLearnsItsLastNumber() {
        order(1, 0);
        order(2, 0);
        sent.clear();
        assertNull(receive(message(GATEWAY, 0, 0, null)));
        final UnsafeBuffer resumed = onlyReply();
        assertEquals(0, resumed.getLong(Messages.NUMBER, LITTLE));
        assertEquals(2, resumed.getLong(Messages.SEQUENCE, LITTLE));
        order(3, 2);
        assertEquals(3, onlyReply().getLong(Messages.NUMBER, LITTLE));
    }

    @Test
    void gatewaysHaveNumbersOfTheirOwn() {
        order(1, 0);
        assertNull(receive(message(GATEWAY + 1, 1, 0, Orders.order(true, 2, 1, 101, 5))));
        assertEquals(List.of(1L, 2L), sent.stream().map(one -> one.getLong(Messages.SEQUENCE, LITTLE)).toList());
    }

    @Test
    void aMessageThatBreaksTheContractIsNamedAndChangesNothing() {
        order(1, 0);
        sent.clear();
        final UnsafeBuffer bad = message(GATEWAY, 2, 1, new UnsafeBuffer(new byte[NativeEngine.RECORD_BYTES]));
        assertTrue(receive(bad).contains("byte 8 (kind) is 0"));
        assertTrue(receive(new UnsafeBuffer(new byte[25])).contains("25 bytes"));
        assertTrue(receive(message(0, 1, 0, null)).contains("must be positive"));
        for (long gateway = 100; gateway < 100 + Messages.GATEWAYS_MAX - 1; gateway++) {
            assertNull(receive(message(gateway, 0, 0, null)));
        }
        assertTrue(receive(message(200, 0, 0, null)).contains("GATEWAYS_MAX = 64"));
        sent.clear();
        order(2, 1);
        assertEquals(2, onlyReply().getLong(Messages.SEQUENCE, LITTLE));
    }

    @Test
    void aRestoredMachineAnswersAsTheSavedOne() throws ClientException {
        for (int number = 1; number <= 300; number++) {
            order(number, number / 2);
        }
        assertNull(receive(message(GATEWAY, 301, 150, null)));
        assertNull(receive(message(GATEWAY + 1, 1, 0, Orders.order(true, 2, 1, 100, 700))));
        final Machine.Restore restore = new Machine.Restore();
        final boolean[] complete = new boolean[1];
        machine.save(100, (bytes, offset, length) -> {
            assertTrue(length <= 100 && !complete[0]);
            complete[0] = restore.put(bytes, offset, length);
        });
        assertTrue(complete[0]);
        final List<String> before = repliesAgain();
        machine.close();
        machine = restore.machine(this::reached);
        assertEquals(before, repliesAgain());
        assertTrue(before.size() > 150, "both windows have replies");
    }

    /** All replies that the machine has. */
    private List<String> repliesAgain() {
        sent.clear();
        for (int number = 151; number <= 301; number++) {
            order(number, 150);
        }
        assertNull(receive(message(GATEWAY + 1, 1, 0, null)));
        return sent.stream().map(one -> HexFormat.of().formatHex(one.byteArray())).toList();
    }
}
