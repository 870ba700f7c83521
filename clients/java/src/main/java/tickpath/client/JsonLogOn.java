package tickpath.client;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import tickpath.client.LogOn.Failure;
import tickpath.shared.ClientException;
import tickpath.shared.Json;

/** The log-on of one lane in JSON: upgrade, authentication, subscription. */
final class JsonLogOn {
    private final LogOn steps;
    private final Lane lane;
    private final FrameReader reader;
    private final Plan plan;
    private final Forms forms;
    private final SplitMix64 masks;

    JsonLogOn(final LogOn steps, final Lane lane, final FrameReader reader, final Plan plan, final Forms forms) {
        this.steps = steps;
        this.lane = lane;
        this.reader = reader;
        this.plan = plan;
        this.forms = forms;
        masks = new SplitMix64((long) forms.nonce() << 32 | lane.index);
    }

    void go() throws Failure, ClientException {
        upgrade();
        authenticate();
    }

    private void upgrade() throws Failure, ClientException {
        final String key = WebSocket.key(masks.bits(), masks.bits());
        steps.send(lane, WebSocket.upgradeRequest(steps.target(), key).getBytes(StandardCharsets.US_ASCII));
        final String[] head = new String[1];
        steps.turnUntil(lane, "the upgrade to a WebSocket", () -> (head[0] = reader.httpHead()) != null);
        final String complaint = WebSocket.complaintAboutUpgrade(head[0], key);
        if (complaint != null) {
            throw new Failure(complaint);
        }
    }

    private void authenticate() throws Failure, ClientException {
        final Plan.Load load = plan.load();
        final List<Integer> accounts = new ArrayList<>();
        for (int account = lane.index; account < load.accounts(); account += load.connections()) {
            accounts.add(account);
            final String token = Long.toString(load.firstToken() + account);
            send("{\"type\":\"AUTHENTICATE\",\"api_token\":\"" + token + "\"}");
            await("AUTHENTICATE", message -> "AUTHENTICATED".equals(Reply.string(message, "type")));
        }
        send("{\"type\":\"SUBSCRIBE\",\"channels\":[{\"name\":\"ORDERS\"}]}");
        final List<String> names = new ArrayList<>();
        await("SUBSCRIBE", message -> {
            if (!"SUBSCRIPTIONS".equals(Reply.string(message, "type"))) {
                return false;
            }
            final JsonElement channels = message.get("channels");
            for (final JsonElement channel : channels instanceof JsonArray list ? list : new JsonArray()) {
                final String name = channel.isJsonObject() ? Reply.string(channel.getAsJsonObject(), "account_id") : null;
                if (name != null) {
                    names.add(name);
                }
            }
            return true;
        });
        if (accounts.size() == 1) {
            return;
        }
        if (names.size() != accounts.size()) {
            throw new Failure(accounts.size() + " accounts logged on over one connection, but the exchange knows " + names.size()
                    + ": give each its own (load.connections = load.accounts)");
        }
        for (int index = 0; index < names.size(); index++) {
            forms.name(accounts.get(index), names.get(index));
        }
    }

    private void send(final String text) throws Failure, ClientException {
        steps.send(lane, WebSocket.clientFrame(WebSocket.TEXT, text.getBytes(StandardCharsets.UTF_8), (int) masks.bits()));
    }

    /** Reads until a message satisfies {@code wanted}. */
    private void await(final String asked, final Predicate<JsonObject> wanted) throws Failure, ClientException {
        final String[] wrong = new String[1];
        steps.turnUntil(lane, asked, () -> {
            for (int opcode = reader.next(); opcode != FrameReader.NONE; opcode = reader.next()) {
                if (opcode == FrameReader.BROKEN) {
                    wrong[0] = reader.complaint();
                } else if (opcode == WebSocket.CLOSE) {
                    wrong[0] = "the exchange closed it: " + reader.closeReason();
                } else if (opcode == WebSocket.TEXT && isWanted(reader, wanted, wrong)) {
                    return true;
                }
                if (wrong[0] != null) {
                    return true;
                }
            }
            return false;
        });
        if (wrong[0] != null) {
            throw new Failure(asked + ": " + wrong[0]);
        }
    }

    private static boolean isWanted(final FrameReader reader, final Predicate<JsonObject> wanted, final String[] wrong) {
        final String text = reader.text();
        try {
            final JsonObject message = Json.object(text);
            final String type = Reply.string(message, "type");
            if ("ERROR".equals(type)) {
                wrong[0] = "the exchange answers with an error: " + Reply.string(message, "reason");
            } else if (type == null) {
                wrong[0] = "a message has no type: " + text;
            }
            return wrong[0] != null || wanted.test(message);
        } catch (final com.google.gson.JsonParseException e) {
            wrong[0] = "a message is malformed: " + e.getMessage();
            return true;
        }
    }
}
