import java.net.InetSocketAddress;
import java.util.Map;
import quickfix.Application;
import quickfix.Group;
import quickfix.Message;
import quickfix.SessionID;
import quickfix.SocketAcceptor;

/** The common part of both ends: messages as lines, and lines on stdout. See README.md. */
abstract class FixPeer implements Application {
    /** The groups of requests, each with the field of its entries by the field that counts them. */
    private static final Map<Integer, Integer> GROUPS = Map.of(267, 269, 146, 55);

    /** The message of `35=D|11=a|…`; `@` is the time now. */
    static Message message(String line) {
        Message message = new Message();
        int count = 0;
        for (String pair : line.split("\\|")) {
            int at = pair.indexOf('=');
            int tag = Integer.parseInt(pair.substring(0, at));
            String value = pair.substring(at + 1);
            if (GROUPS.containsKey(tag)) {
                count = tag;
            } else if (count > 0 && GROUPS.get(count) == tag) {
                Group entry = new Group(count, tag);
                entry.setString(tag, value);
                message.addGroup(entry);
            } else if (tag == 35) {
                message.getHeader().setString(tag, value);
            } else if (value.equals("@")) {
                message.setUtcTimeStamp(tag, java.time.LocalDateTime.now(java.time.ZoneOffset.UTC));
            } else {
                message.setString(tag, value);
            }
        }
        return message;
    }

    /** Accepts sessions until stdin is closed; prints the port first. */
    static void serve(SocketAcceptor acceptor) throws Exception {
        acceptor.start();
        InetSocketAddress address =
            (InetSocketAddress) acceptor.getEndpoints().iterator().next().getLocalAddress();
        say("listening " + address.getPort());
        while (System.in.read() >= 0) {
            // Until it is closed.
        }
        acceptor.stop(true);
    }

    static synchronized void say(String line) {
        System.out.println(line.replace('\u0001', '|'));
    }

    @Override
    public void onCreate(SessionID id) {}

    @Override
    public void onLogon(SessionID id) {
        say("logon");
    }

    @Override
    public void onLogout(SessionID id) {
        say("logout");
    }

    @Override
    public void toAdmin(Message message, SessionID id) {}

    @Override
    public void fromAdmin(Message message, SessionID id) {
        say("admin " + message);
    }

    @Override
    public void toApp(Message message, SessionID id) {}
}
