import java.io.ByteArrayInputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import quickfix.DefaultMessageFactory;
import quickfix.FieldNotFound;
import quickfix.MemoryStoreFactory;
import quickfix.Message;
import quickfix.MessageStoreFactory;
import quickfix.SLF4JLogFactory;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionNotFound;
import quickfix.SessionSettings;
import quickfix.SocketAcceptor;
import quickfix.mina.acceptor.DynamicAcceptorSessionProvider;

/**
 * The session layer of QuickFIX/J alone, for random walks beside tickpath's: an acceptor of any
 * client, which answers each message of the application with a BusinessMessageReject. It prints its
 * port, and ends when stdin does. See README.md.
 */
public final class FixSessions extends FixPeer {
    public static void main(String[] args) throws Exception {
        if (args.length != 1) {
            System.err.println("usage: FixSessions DICTIONARY");
            System.exit(2);
        }
        String text = String.join("\n",
            "[DEFAULT]", "ConnectionType=acceptor", "StartTime=00:00:00", "EndTime=00:00:00",
            "UseDataDictionary=Y", "DataDictionary=" + args[0], "BeginString=FIX.4.4",
            "SocketAcceptAddress=127.0.0.1", "SocketAcceptPort=0", "SocketTcpNoDelay=Y",
            "[SESSION]", "AcceptorTemplate=Y", "SenderCompID=US", "TargetCompID=*", "");
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        SessionSettings settings = new SessionSettings(new ByteArrayInputStream(bytes));
        FixSessions sessions = new FixSessions();
        MessageStoreFactory stores = new MemoryStoreFactory();
        SLF4JLogFactory logs = new SLF4JLogFactory(settings);
        DefaultMessageFactory messages = new DefaultMessageFactory();
        SocketAcceptor acceptor = new SocketAcceptor(sessions, stores, settings, logs, messages);
        InetSocketAddress any = new InetSocketAddress("127.0.0.1", 0);
        acceptor.setSessionProvider(any, new DynamicAcceptorSessionProvider(settings,
            new SessionID("FIX.4.4", "US", "*"), sessions, stores, logs, messages));
        serve(acceptor);
    }

    @Override
    public void fromApp(Message message, SessionID id) throws FieldNotFound {
        String type = message.getHeader().getString(35);
        String answer = "35=j|45=" + message.getHeader().getInt(34) + "|372=" + type + "|380=0";
        try {
            Session.sendToTarget(message(answer), id);
        } catch (SessionNotFound gone) {
            throw new IllegalStateException(gone);
        }
    }

    @Override
    public void onLogon(SessionID id) {}

    @Override
    public void onLogout(SessionID id) {}

    @Override
    public void fromAdmin(Message message, SessionID id) {}
}
