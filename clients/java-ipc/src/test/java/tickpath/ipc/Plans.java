package tickpath.ipc;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import tickpath.shared.ClientException;

/** Plans for tests: small, slow and not pinned. */
final class Plans {
    private static final Gson GSON = new GsonBuilder().serializeNulls().create();

    private final Map<String, Object> keys = new LinkedHashMap<>();

    Plans(final String structure, final Path directory) {
        with("subject", structure);
        with("structure", structure);
        with("message_bytes", 256);
        with("slots", 1024);
        with("keys", 1);
        with("block_bytes", 1 << 20);
        with("rate_per_second", 20_000.0);
        with("warm_up_messages", 1_000);
        with("messages", 4_000);
        with("cores", Arrays.asList(null, null));
        with("scheduling", "other");
        with("directory", directory.toString());
        with("samples", directory.resolve("a.samples").toString());
    }

    Plans with(final String key, final Object value) {
        keys.put(key, value);
        return this;
    }

    Plans without(final String key) {
        keys.remove(key);
        return this;
    }

    String line() {
        return GSON.toJson(keys);
    }

    Plan plan() throws ClientException {
        return Plan.parse(line());
    }
}
