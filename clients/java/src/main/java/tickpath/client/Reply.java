package tickpath.client;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import tickpath.shared.Json;

/**
 * A flyweight over one message of the exchange: the places of the values that a load needs. Keys
 * come in any order, unknown ones are skipped. Gson reads a message again that has anything unusual
 * in it (escapes, bytes beyond ASCII), and words the error if it is malformed.
 */
final class Reply {
    /** The messages that a load tells apart. */
    enum Type {
        BOOKED,
        CANCELLED,
        REJECTED,
        AUTHENTICATED,
        SUBSCRIPTIONS,
        ERROR,
        /** Any other type or status. */
        OTHER
    }

    private static final byte[] TYPE = ascii("type");
    private static final byte[] STATUS = ascii("status");
    private static final byte[] CLIENT_ID = ascii("client_id");
    private static final byte[] BOOKED = ascii("BOOKED");
    private static final byte[] DONE = ascii("DONE");
    private static final byte[] CANCELLED = ascii("CANCELLED");
    private static final byte[] TRUE = ascii("true");
    private static final byte[] FALSE = ascii("false");
    private static final byte[] NULL = ascii("null");
    private static final int DEPTH_MAX = 64;
    private static final int ABSENT = -1;

    private byte[] text;
    private int at;
    private int end;
    private int typeAt;
    private int typeEnd;
    private int statusAt;
    private int statusEnd;
    private int clientIdAt;
    private int clientIdEnd;
    private int stringEnd;
    private Type type;

    private static byte[] ascii(final String word) {
        return word.getBytes(StandardCharsets.US_ASCII);
    }

    /**
     * Reads the message from {@code from} to {@code to}.
     *
     * @return an error message; null if the message is well-formed
     */
    String read(final byte[] bytes, final int from, final int to) {
        text = bytes;
        at = from;
        end = to;
        typeAt = ABSENT;
        statusAt = ABSENT;
        clientIdAt = ABSENT;
        if (!members() || typeAt == ABSENT) {
            return readUnusual(from, to);
        }
        type = usualType();
        return type == Type.OTHER ? readUnusual(from, to) : null;
    }

    Type type() {
        return type;
    }

    /** The order's number, if the message has a client id of this run. */
    long number(final ClientIds ids) {
        return clientIdAt == ABSENT ? ClientIds.FOREIGN : ids.number(text, clientIdAt, clientIdEnd - clientIdAt);
    }

    /** Recognises the two acks of every order; other types are rare. */
    private Type usualType() {
        if (clientIdAt == ABSENT) {
            return Type.OTHER;
        }
        if (is(BOOKED, typeAt, typeEnd)) {
            return Type.BOOKED;
        }
        final boolean isCancelled = is(DONE, typeAt, typeEnd) && statusAt != ABSENT && is(CANCELLED, statusAt, statusEnd);
        return isCancelled ? Type.CANCELLED : Type.OTHER;
    }

    private boolean is(final byte[] word, final int from, final int to) {
        return Arrays.equals(word, 0, word.length, text, from, to);
    }

    /** Reads the whole message. False if there is anything unusual in it. */
    private boolean members() {
        skipSpace();
        if (!take('{')) {
            return false;
        }
        do {
            skipSpace();
            if (!string()) {
                return false;
            }
            final int keyAt = stringStart();
            final int keyEnd = stringEnd;
            skipSpace();
            if (!take(':')) {
                return false;
            }
            skipSpace();
            if (!member(keyAt, keyEnd)) {
                return false;
            }
            skipSpace();
        } while (take(','));
        if (!take('}')) {
            return false;
        }
        skipSpace();
        return at == end;
    }

    private int stringAt;

    private int stringStart() {
        return stringAt;
    }

    /** Reads the value of one key. A known key must be a string, and come once. */
    private boolean member(final int keyAt, final int keyEnd) {
        if (is(CLIENT_ID, keyAt, keyEnd)) {
            if (clientIdAt != ABSENT || !string()) {
                return false;
            }
            clientIdAt = stringAt;
            clientIdEnd = stringEnd;
            return true;
        }
        if (is(TYPE, keyAt, keyEnd)) {
            if (typeAt != ABSENT || !string()) {
                return false;
            }
            typeAt = stringAt;
            typeEnd = stringEnd;
            return true;
        }
        if (is(STATUS, keyAt, keyEnd)) {
            if (statusAt != ABSENT || !string()) {
                return false;
            }
            statusAt = stringAt;
            statusEnd = stringEnd;
            return true;
        }
        return value(0);
    }

    private boolean value(final int depth) {
        if (at >= end) {
            return false;
        }
        return switch (text[at]) {
            case '"' -> string();
            case '{' -> depth < DEPTH_MAX && object(depth);
            case '[' -> depth < DEPTH_MAX && array(depth);
            case 't' -> word(TRUE);
            case 'f' -> word(FALSE);
            case 'n' -> word(NULL);
            default -> number();
        };
    }

    private boolean object(final int depth) {
        at++;
        skipSpace();
        if (take('}')) {
            return true;
        }
        do {
            skipSpace();
            if (!string()) {
                return false;
            }
            skipSpace();
            if (!take(':')) {
                return false;
            }
            skipSpace();
            if (!value(depth + 1)) {
                return false;
            }
            skipSpace();
        } while (take(','));
        return take('}');
    }

    private boolean array(final int depth) {
        at++;
        skipSpace();
        if (take(']')) {
            return true;
        }
        do {
            skipSpace();
            if (!value(depth + 1)) {
                return false;
            }
            skipSpace();
        } while (take(','));
        return take(']');
    }

    private boolean word(final byte[] word) {
        if (end - at < word.length || !is(word, at, at + word.length)) {
            return false;
        }
        at += word.length;
        return true;
    }

    /** Reads a whole number without an exponent; others are unusual. */
    private boolean number() {
        take('-');
        final int first = at;
        while (at < end && text[at] >= '0' && text[at] <= '9') {
            at++;
        }
        return at > first && (at == first + 1 || text[first] != '0')
                && (at >= end || text[at] != '.' && text[at] != 'e' && text[at] != 'E');
    }

    /** Reads a string of printable ASCII without a backslash, and stores its place. */
    private boolean string() {
        if (!take('"')) {
            return false;
        }
        stringAt = at;
        while (at < end) {
            final byte one = text[at];
            if (one == '"') {
                stringEnd = at++;
                return true;
            }
            if (one < ' ' || one == '\\') {
                return false;
            }
            at++;
        }
        return false;
    }

    private boolean take(final char wanted) {
        if (at < end && text[at] == wanted) {
            at++;
            return true;
        }
        return false;
    }

    private void skipSpace() {
        while (at < end && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) {
            at++;
        }
    }

    private String readUnusual(final int from, final int to) {
        typeAt = ABSENT;
        clientIdAt = ABSENT;
        final JsonObject object;
        try {
            object = Json.object(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text, from, to - from)).toString());
        } catch (final CharacterCodingException e) {
            return "a message is not UTF-8";
        } catch (final JsonParseException e) {
            return "a message is malformed: " + e.getMessage();
        }
        final String name = string(object, "type");
        if (name == null) {
            return "a message has no type: " + object;
        }
        final String clientId = string(object, "client_id");
        if (clientId != null) {
            // Decoded, so its places are those in a copy.
            text = clientId.getBytes(StandardCharsets.UTF_8);
            clientIdAt = 0;
            clientIdEnd = text.length;
        }
        type = switch (name) {
            case "BOOKED" -> Type.BOOKED;
            case "DONE" -> "CANCELLED".equals(string(object, "status")) ? Type.CANCELLED : Type.OTHER;
            case "REJECTED" -> Type.REJECTED;
            case "AUTHENTICATED" -> Type.AUTHENTICATED;
            case "SUBSCRIPTIONS" -> Type.SUBSCRIPTIONS;
            case "ERROR" -> Type.ERROR;
            default -> Type.OTHER;
        };
        if (name.equals("DONE") && string(object, "status") == null) {
            return "a message of type DONE has no status: " + object;
        }
        final boolean needsId = type == Type.BOOKED || type == Type.CANCELLED || type == Type.REJECTED;
        return needsId && clientId == null ? "a message of type " + name + " has no client_id: " + object : null;
    }

    static String string(final JsonObject object, final String key) {
        final JsonElement value = object.get(key);
        final boolean isString = value != null && value.isJsonPrimitive() && value.getAsJsonPrimitive().isString();
        return isString ? value.getAsString() : null;
    }
}
