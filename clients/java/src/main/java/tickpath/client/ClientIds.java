package tickpath.client;

import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.Arrays;

/** The client ids of a run: {@code xxxxxxxx-0000-4000-8000-} and the order's number, 12 digits. */
final class ClientIds {
    static final int BYTES = 36;

    /** No order number: the client id is not one of this run. */
    static final long FOREIGN = -1;

    /** Position of the order's number in a client id. */
    static final int NUMBER_AT = 24;

    private static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private final byte[] prefix;

    ClientIds(final int nonce) {
        prefix = String.format("%08x-0000-4000-8000-", nonce).getBytes(StandardCharsets.US_ASCII);
    }

    /**
     * A random number, so that runs against the same exchange have different client ids. Time and
     * process id would not do: hosts of a fleet start together, and containers share process ids.
     */
    static int nonce() {
        return new SecureRandom().nextInt();
    }

    /** The client id of order 0, which forms start from. */
    String first() {
        return new String(prefix, StandardCharsets.US_ASCII) + "000000000000";
    }

    /** Writes the 12 hex digits of {@code number}. */
    static void putNumber(final byte[] out, final int at, final long number) {
        for (int digit = 0; digit < BYTES - NUMBER_AT; digit++) {
            out[at + digit] = DIGITS[(int) (number >>> 44 - 4 * digit) & 15];
        }
    }

    /** The number in a client id of this run; {@link #FOREIGN} for any other. */
    long number(final byte[] text, final int at, final int length) {
        if (length != BYTES || !Arrays.equals(prefix, 0, NUMBER_AT, text, at, at + NUMBER_AT)) {
            return FOREIGN;
        }
        long number = 0;
        for (int index = at + NUMBER_AT; index < at + BYTES; index++) {
            final int digit = text[index];
            if (digit >= '0' && digit <= '9') {
                number = number << 4 | digit - '0';
            } else if (digit >= 'a' && digit <= 'f') {
                number = number << 4 | digit - 'a' + 10;
            } else {
                return FOREIGN;
            }
        }
        return number;
    }
}
