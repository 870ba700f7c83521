package tickpath.shared;

/** The exit statuses of both contracts. */
public final class ExitStatus {
    /** The result is complete. */
    public static final int COMPLETE = 0;

    /** There is no result, but a sentence on stderr. */
    public static final int ERROR = 2;

    /** The result says that it is not complete, and why. */
    public static final int INCOMPLETE = 3;

    private ExitStatus() {}
}
