package tickpath.shared;

/**
 * A client can't do what its plan asks. The message is one sentence for stderr: what happened,
 * why, what to try. Ends the process with {@link ExitStatus#ERROR}.
 */
public final class ClientException extends Exception {
    private static final long serialVersionUID = 1;

    /** @param sentence for stderr, without the program's name */
    public ClientException(final String sentence) {
        super(sentence);
    }

    /** @param sentence for stderr, without the program's name */
    public ClientException(final String sentence, final Throwable cause) {
        super(sentence, cause);
    }
}
