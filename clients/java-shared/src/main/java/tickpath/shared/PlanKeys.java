package tickpath.shared;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import java.math.BigInteger;
import java.util.OptionalInt;

/** The keys of a plan, or of an object in it. Errors name the key, its value and its limits. */
public final class PlanKeys {
    /** Cores have numbers from 0 to this. */
    public static final int CORE_MAX = 4_095;

    private final String prefix;
    private final JsonObject object;

    private PlanKeys(final String prefix, final JsonObject object) {
        this.prefix = prefix;
        this.object = object;
    }

    /** Reads a plan: one JSON object and nothing else, in which no key comes twice. */
    public static PlanKeys of(final String line) throws ClientException {
        try {
            return new PlanKeys("", Json.object(line));
        } catch (final JsonParseException e) {
            throw new ClientException("the plan is no line with one JSON object: " + e.getMessage(), e);
        }
    }

    /** Whether the key is there and not null. */
    public boolean has(final String key) {
        final JsonElement value = object.get(key);
        return value != null && !value.isJsonNull();
    }

    private JsonElement get(final String key) throws ClientException {
        if (!has(key)) {
            throw new ClientException("the plan has no `" + prefix + key + "`");
        }
        return object.get(key);
    }

    /** The keys of an object in this one. */
    public PlanKeys keys(final String key) throws ClientException {
        if (get(key).isJsonObject()) {
            return new PlanKeys(prefix + key + ".", get(key).getAsJsonObject());
        }
        throw wrong(key, "an object");
    }

    /** False if the key is absent. */
    public boolean flag(final String key) throws ClientException {
        if (!has(key)) {
            return false;
        }
        final JsonElement value = get(key);
        if (value.isJsonPrimitive() && value.getAsJsonPrimitive().isBoolean()) {
            return value.getAsBoolean();
        }
        throw wrong(key, "true or false");
    }

    public String string(final String key) throws ClientException {
        final JsonElement value = get(key);
        if (value.isJsonPrimitive() && value.getAsJsonPrimitive().isString()) {
            return value.getAsString();
        }
        throw wrong(key, "a string");
    }

    public double number(final String key, final double min, final double max) throws ClientException {
        final JsonElement value = get(key);
        if (value.isJsonPrimitive() && value.getAsJsonPrimitive().isNumber()) {
            final double number = value.getAsDouble();
            if (number >= min && number <= max) {
                return number;
            }
        }
        throw wrong(key, "a number from " + min + " to " + max);
    }

    public long whole(final String key, final long min, final long max) throws ClientException {
        return whole(key, get(key), min, max);
    }

    /** A core's number; empty if the key is absent or null. */
    public OptionalInt core(final String key) throws ClientException {
        return has(key) ? core(key, get(key)) : OptionalInt.empty();
    }

    /**
     * An array of core numbers, each of which may be null, in the order that {@code form} names.
     */
    public OptionalInt[] cores(final String key, final int count, final String form) throws ClientException {
        final JsonElement value = get(key);
        if (!value.isJsonArray() || value.getAsJsonArray().size() != count) {
            throw wrong(key, form);
        }
        final JsonArray array = value.getAsJsonArray();
        final OptionalInt[] cores = new OptionalInt[count];
        for (int index = 0; index < count; index++) {
            cores[index] = core(key, array.get(index));
        }
        return cores;
    }

    private OptionalInt core(final String key, final JsonElement value) throws ClientException {
        return value.isJsonNull() ? OptionalInt.empty() : OptionalInt.of((int) whole(key, value, 0, CORE_MAX));
    }

    private long whole(final String key, final JsonElement value, final long min, final long max) throws ClientException {
        try {
            if (value.isJsonPrimitive() && value.getAsJsonPrimitive().isNumber()) {
                final BigInteger whole = value.getAsBigDecimal().toBigIntegerExact();
                // A seed has 64 bits without a sign.
                final int bitsMax = whole.signum() < 0 ? Long.SIZE - 1 : Long.SIZE;
                final long number = whole.longValue();
                if (whole.bitLength() <= bitsMax && number >= min && number <= max) {
                    return number;
                }
            }
        } catch (final ArithmeticException | NumberFormatException e) {
            // It gets the error below.
        }
        throw wrong(key, "a whole number from " + min + " to " + max);
    }

    /** The error for a value that is not {@code wanted}. */
    public ClientException wrong(final String key, final String wanted) {
        return new ClientException("`" + prefix + key + "` is " + object.get(key) + ", and must be " + wanted);
    }
}
