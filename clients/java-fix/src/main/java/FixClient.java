import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import quickfix.Application;
import quickfix.DefaultMessageFactory;
import quickfix.FileStoreFactory;
import quickfix.Message;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionSettings;
import quickfix.SocketInitiator;

/**
 * A client of the exchange's FIX port by QuickFIX/J, for tests: lines on stdin become messages, and
 * messages lines on stdout. See README.md.
 */
public final class FixClient extends FixPeer {
    private final String token;

    private FixClient(String token) {
        this.token = token;
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 5) {
            System.err.println("usage: FixClient PORT COMP_ID TOKEN DICTIONARY STORE");
            System.exit(2);
        }
        String text = String.join("\n",
            "[DEFAULT]", "ConnectionType=initiator", "StartTime=00:00:00", "EndTime=00:00:00",
            "HeartBtInt=5", "ReconnectInterval=1", "UseDataDictionary=Y",
            "DataDictionary=" + args[3], "FileStorePath=" + args[4],
            "[SESSION]", "BeginString=FIX.4.4", "SenderCompID=" + args[1],
            "TargetCompID=TICKPATH", "SocketConnectHost=127.0.0.1",
            "SocketConnectPort=" + args[0]);
        Application application = new FixClient(args[2]);
        SessionID id = new SessionID("FIX.4.4", args[1], "TICKPATH");
        SocketInitiator initiator = start(application, text);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line) {
                case "away" -> {
                    initiator.stop(true);
                    say("away");
                }
                case "back" -> initiator = start(application, text);
                default -> Session.sendToTarget(message(line), id);
            }
        }
        initiator.stop();
    }

    private static SocketInitiator start(Application application, String text) throws Exception {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        SessionSettings settings = new SessionSettings(new ByteArrayInputStream(bytes));
        SocketInitiator initiator = new SocketInitiator(application,
            new FileStoreFactory(settings), settings, new DefaultMessageFactory());
        initiator.start();
        return initiator;
    }

    @Override
    public void toAdmin(Message message, SessionID id) {
        try {
            if (message.getHeader().getString(35).equals("A")) {
                message.setString(554, token);
            }
        } catch (quickfix.FieldNotFound missing) {
            throw new IllegalStateException(missing);
        }
    }

    @Override
    public void fromApp(Message message, SessionID id) {
        say("app " + message);
    }
}
