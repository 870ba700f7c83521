package tickpath.shared;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A scheduling class of the kernel.
 *
 * @param option of {@code chrt}, with its leading dashes; null: as the process was started
 * @param priority from 1 to 99; 0 without a class
 */
public record Scheduling(String option, int priority) {
    /** As the process was started. */
    public static final Scheduling INHERITED = new Scheduling(null, 0);

    private static final Pattern REALTIME = Pattern.compile("(fifo|rr):([1-9][0-9]?)");

    /** Reads {@code other}, {@code fifo:PRIORITY} or {@code rr:PRIORITY}. */
    public static Scheduling parse(final String text) throws ClientException {
        if (text.equals("other")) {
            return INHERITED;
        }
        final Matcher matcher = REALTIME.matcher(text);
        if (!matcher.matches()) {
            throw new ClientException("`scheduling` is \"" + text
                    + "\", and must be other, fifo:PRIORITY or rr:PRIORITY, with a priority from 1 to 99");
        }
        return new Scheduling("--" + matcher.group(1), Integer.parseInt(matcher.group(2)));
    }

    public boolean isRealtime() {
        return option != null;
    }
}
