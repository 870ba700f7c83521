import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import quickfix.DefaultMessageFactory;
import quickfix.FieldNotFound;
import quickfix.Group;
import quickfix.MemoryStoreFactory;
import quickfix.Message;
import quickfix.SLF4JLogFactory;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionNotFound;
import quickfix.SessionSettings;
import quickfix.SocketAcceptor;

/**
 * A server by QuickFIX/J, for tests of tickpath's FIX client: it acknowledges orders and their
 * cancels, says which orders are open, lists any symbol, and prints what it was sent. Servers with
 * the same directory know each other's orders. It ends when stdin does. See README.md.
 */
public final class FixServer extends FixPeer {
    /** A file for each open order, named by ClOrdID, with its Symbol, Side and OrderQty. */
    private final Path open;
    /** After so many orders it answers no further one. It keeps only the first of those. */
    private final long answered;
    private long orders;
    private long cancels;
    private long executions;

    private FixServer(Path open, long answered) {
        this.open = open;
        this.answered = answered;
    }

    public static void main(String[] args) throws Exception {
        if (args.length < 4) {
            System.err.println("usage: FixServer DICTIONARY ORDERS ANSWERED COMP_ID...");
            System.exit(2);
        }
        StringBuilder text = new StringBuilder(String.join("\n",
            "[DEFAULT]", "ConnectionType=acceptor", "StartTime=00:00:00", "EndTime=00:00:00",
            "UseDataDictionary=Y", "DataDictionary=" + args[0], "BeginString=FIX.4.4",
            "ValidateUserDefinedFields=N", "SenderCompID=TICKPATH",
            "SocketAcceptAddress=127.0.0.1", "SocketAcceptPort=0", ""));
        for (int at = 3; at < args.length; at++) {
            text.append("[SESSION]\nTargetCompID=").append(args[at]).append('\n');
        }
        byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
        SessionSettings settings = new SessionSettings(new ByteArrayInputStream(bytes));
        FixServer server = new FixServer(Path.of(args[1]), Long.parseLong(args[2]));
        SocketAcceptor acceptor = new SocketAcceptor(server, new MemoryStoreFactory(),
            settings, new SLF4JLogFactory(settings), new DefaultMessageFactory());
        serve(acceptor);
    }

    /** The client must answer a test request. */
    @Override
    public void onLogon(SessionID id) {
        super.onLogon(id);
        send("35=1|112=are-you-there", id);
    }

    @Override
    public synchronized void onLogout(SessionID id) {
        say("logout of " + id.getTargetCompID() + " orders " + orders + " cancels " + cancels);
    }

    @Override
    public synchronized void fromApp(Message message, SessionID id) throws FieldNotFound {
        try {
            answer(message, id);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private void answer(Message message, SessionID id) throws FieldNotFound, IOException {
        switch (message.getHeader().getString(35)) {
            case "D" -> order(message, id);
            case "F" -> cancel(message, id);
            case "H" -> status(message, id);
            case "x" -> list(message, id);
            case "V" -> {
                say("asked " + message);
                String request = message.getString(262);
                send("35=Y|262=" + request + "|58=no market data of this server", id);
            }
            default -> say("unexpected " + message);
        }
    }

    private void order(Message message, SessionID id) throws FieldNotFound, IOException {
        String name = message.getString(11);
        String order = "55=" + message.getString(55) + "|54=" + message.getString(54)
            + "|38=" + message.getString(38);
        Path file = open.resolve(name);
        orders++;
        if (Files.exists(file)) {
            send(report(name) + "|150=8|39=8|" + order + "|151=0|14=0|6=0|58=duplicate", id);
            return;
        }
        if (orders <= answered + 1) {
            Files.writeString(file, order);
        }
        if (orders > answered) {
            say("silent about " + name);
            return;
        }
        send(report(name) + "|150=A|39=A|" + order + "|151=1|14=0|6=0", id);
        send(report(name) + "|150=0|39=0|" + order + "|151=1|14=0|6=0", id);
    }

    private void cancel(Message message, SessionID id) throws FieldNotFound, IOException {
        cancels++;
        String original = message.getString(41);
        Path file = open.resolve(original);
        if (!Files.exists(file)) {
            send("35=9|37=NONE|11=" + message.getString(11) + "|41=" + original
                + "|39=8|434=1|102=1|58=no such order", id);
            return;
        }
        String order = Files.readString(file);
        Files.delete(file);
        send(report(message.getString(11)) + "|150=4|39=4|41=" + original + "|" + order
            + "|151=0|14=0|6=0", id);
    }

    private void status(Message message, SessionID id) throws FieldNotFound, IOException {
        say("asked " + message);
        String name = message.getString(11);
        Path file = open.resolve(name);
        if (Files.exists(file)) {
            String order = Files.readString(file);
            send(report(name) + "|150=I|39=0|" + order + "|151=1|14=0|6=0", id);
            return;
        }
        String order = "55=" + message.getString(55) + "|54=" + message.getString(54);
        send(report(name) + "|150=I|39=8|103=5|" + order + "|151=0|14=0|6=0|58=no such order", id);
    }

    private void list(Message message, SessionID id) throws FieldNotFound {
        say("asked " + message);
        Message list = message("35=y|322=1|560=0|320=" + message.getString(320));
        Group entry = new Group(146, 55, new int[] {55, 561, 58});
        entry.setString(55, message.getString(55));
        entry.setString(561, "1");
        entry.setString(58, "MinPriceIncrement=1");
        list.addGroup(entry);
        send(list, id);
    }

    /** The first fields of an ExecutionReport about an order; its OrderID is its ClOrdID. */
    private String report(String name) {
        return "35=8|37=" + name + "|11=" + name + "|17=" + ++executions;
    }

    private static void send(String line, SessionID id) {
        send(message(line), id);
    }

    private static void send(Message message, SessionID id) {
        try {
            Session.sendToTarget(message, id);
        } catch (SessionNotFound gone) {
            throw new IllegalStateException(gone);
        }
    }
}
