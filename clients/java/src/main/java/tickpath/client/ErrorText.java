package tickpath.client;

/** The text of errors. */
final class ErrorText {
    private ErrorText() {}

    /** The message of the innermost cause that has one. */
    static String of(final Throwable failure) {
        String message = null;
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            message = cause.getMessage() == null ? message : cause.getMessage();
        }
        return message == null ? failure.toString() : message;
    }
}
