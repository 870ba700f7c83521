package tickpath.client;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A scheduling class of the kernel's, for both threads.
 *
 * @param option chrt's, with its leading dashes; null: as the process was started
 * @param priority from 1 to 99; 0 without a class
 */
record Scheduling(String option, int priority) {
    private static final Pattern REALTIME = Pattern.compile("(fifo|rr):([1-9][0-9]?)");

    /** {@code other}, {@code fifo:PRIORITY} or {@code rr:PRIORITY}. */
    static Scheduling parse(final String text) throws Refusal {
        if (text.equals("other")) {
            return new Scheduling(null, 0);
        }
        final Matcher matcher = REALTIME.matcher(text);
        if (!matcher.matches()) {
            throw new Refusal("`scheduling` is \"" + text + "\", and must be other, fifo:PRIORITY or rr:PRIORITY, "
                    + "with a priority from 1 to 99");
        }
        return new Scheduling("--" + matcher.group(1), Integer.parseInt(matcher.group(2)));
    }

    boolean isRealtime() {
        return option != null;
    }
}
