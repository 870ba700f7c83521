package tickpath.client;

/** Sentences for people. */
final class Text {
    private Text() {}

    /** The innermost cause that says something, in its own words. */
    static String of(final Throwable failure) {
        String said = null;
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            said = cause.getMessage() == null ? said : cause.getMessage();
        }
        return said == null ? failure.toString() : said;
    }
}
