package tickpath.ipc;

/**
 * What can't be done, in one sentence for stderr: what happened, why, what to try. Ends the
 * process with status 2.
 */
final class Refusal extends Exception {
    private static final long serialVersionUID = 1;

    Refusal(final String sentence) {
        super(sentence);
    }

    Refusal(final String sentence, final Throwable cause) {
        super(sentence, cause);
    }
}
