package tickpath.client;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import java.nio.file.Path;
import tickpath.shared.ClientException;

/** Plans for tests: short runs that are not pinned. */
final class Plans {
    private static final Gson GSON = new GsonBuilder().serializeNulls().create();

    private final JsonObject plan = new JsonObject();
    private final JsonObject load = new JsonObject();

    Plans(final String model, final int port, final Path hlog) {
        with("subject", "java");
        with("target", "127.0.0.1:" + port);
        with("wire", "websocket-json");
        with("backend", "block");
        with("scheduling", "other");
        with("warm_up_seconds", 0.2);
        with("seconds", 0.5);
        with("hlog", hlog.toString());
        plan.add("core", null);
        plan.add("load", load);
        withLoad("model", model);
        withLoad("rate_per_second", 2_000.0);
        withLoad("arrival", "uniform");
        withLoad("burst", 1);
        withLoad("seed", 42);
        withLoad("accounts", 4);
        withLoad("connections", 2);
        withLoad("cancel_after", 1);
        withLoad("instrument", "BTC_USDT");
        withLoad("side", "BUY");
        withLoad("price", "1");
        withLoad("amount", "1");
        withLoad("first_token", 3001);
    }

    Plans with(final String key, final Object value) {
        plan.add(key, GSON.toJsonTree(value));
        return this;
    }

    Plans withLoad(final String key, final Object value) {
        load.add(key, GSON.toJsonTree(value));
        return this;
    }

    Plans without(final String key) {
        plan.remove(key);
        return this;
    }

    String line() {
        return GSON.toJson(plan);
    }

    Plan plan() throws ClientException {
        return Plan.parse(line());
    }
}
