import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import quickfix.DefaultMessageFactory;
import quickfix.FieldNotFound;
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
 * cancels, and prints what it was sent. It ends when stdin does. See README.md.
 */
public final class FixServer extends FixPeer {
    /** The open orders of each session: Symbol, Side and OrderQty. */
    private final Map<SessionID, Map<String, String>> open = new HashMap<>();
    private long orders;
    private long cancels;
    private long executions;

    public static void main(String[] args) throws Exception {
        if (args.length < 2) {
            System.err.println("usage: FixServer DICTIONARY COMP_ID...");
            System.exit(2);
        }
        StringBuilder text = new StringBuilder(String.join("\n",
            "[DEFAULT]", "ConnectionType=acceptor", "StartTime=00:00:00", "EndTime=00:00:00",
            "UseDataDictionary=Y", "DataDictionary=" + args[0], "BeginString=FIX.4.4",
            "SenderCompID=TICKPATH", "SocketAcceptAddress=127.0.0.1", "SocketAcceptPort=0", ""));
        for (int at = 1; at < args.length; at++) {
            text.append("[SESSION]\nTargetCompID=").append(args[at]).append('\n');
        }
        byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
        SessionSettings settings = new SessionSettings(new ByteArrayInputStream(bytes));
        SocketAcceptor acceptor = new SocketAcceptor(new FixServer(), new MemoryStoreFactory(),
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
        Map<String, String> mine = open.computeIfAbsent(id, ignored -> new HashMap<>());
        String name = message.getString(11);
        String head = "|37=" + name + "|17=" + ++executions;
        switch (message.getHeader().getString(35)) {
            case "D" -> {
                orders++;
                String order = "55=" + message.getString(55) + "|54=" + message.getString(54)
                    + "|38=" + message.getString(38);
                if (mine.putIfAbsent(name, order) != null) {
                    send("35=8" + head + "|150=8|39=8|11=" + name + "|" + order
                        + "|151=0|14=0|6=0|58=duplicate", id);
                    return;
                }
                send("35=8" + head + "|150=A|39=A|11=" + name + "|" + order + "|151=1|14=0|6=0", id);
                send("35=8" + head + "|150=0|39=0|11=" + name + "|" + order + "|151=1|14=0|6=0", id);
            }
            case "F" -> {
                cancels++;
                String original = message.getString(41);
                String order = mine.remove(original);
                String both = "|11=" + name + "|41=" + original;
                send(order == null
                    ? "35=9|37=NONE" + both + "|39=8|434=1|102=1|58=no such order"
                    : "35=8" + head + "|150=4|39=4" + both + "|" + order + "|151=0|14=0|6=0", id);
            }
            default -> say("unexpected " + message);
        }
    }

    private static void send(String line, SessionID id) {
        try {
            Session.sendToTarget(message(line), id);
        } catch (SessionNotFound gone) {
            throw new IllegalStateException(gone);
        }
    }
}
