package tickpath.shared;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.IOException;
import java.io.StringReader;

/** JSON where time does not matter: plans, results, logging on, unusual replies. */
public final class Json {
    private static final Gson GSON = new GsonBuilder().disableHtmlEscaping().create();

    private Json() {}

    /** The text as a JSON string. */
    public static String quoted(final String text) {
        return GSON.toJson(text);
    }

    /**
     * Reads text that is one object and nothing else, in which no key comes twice.
     *
     * @throws JsonParseException if it is not
     */
    public static JsonObject object(final String text) {
        try (JsonReader reader = new JsonReader(new StringReader(text))) {
            reader.setStrictness(Strictness.STRICT);
            final JsonObject object = new JsonObject();
            reader.beginObject();
            while (reader.hasNext()) {
                final String key = reader.nextName();
                if (object.has(key)) {
                    throw new JsonParseException("the key `" + key + "` comes twice");
                }
                object.add(key, JsonParser.parseReader(reader));
            }
            reader.endObject();
            if (reader.peek() != JsonToken.END_DOCUMENT) {
                throw new JsonParseException("there is more after the object");
            }
            return object;
        } catch (final IOException | IllegalStateException | NumberFormatException e) {
            throw new JsonParseException(e.getMessage(), e);
        }
    }
}
