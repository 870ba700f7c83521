package tickpath.client;

/** Counts of messages in the measured part. */
final class Counts {
    long sent;
    long received;
    long lost;
    long duplicated;
    long outOfOrder;
    long overtakes;
    long rejected;
    long unexpected;
    long heldBack;
    long warmUpSent;
    double ratePerSecondAchieved;

    /** Messages and their lengths on the stream, by the kinds below. */
    final long[] lengthCount = new long[4];
    final long[] lengthSum = new long[4];

    static final int ORDER = 0;
    static final int ORDER_REPLY = 1;
    static final int CANCEL = 2;
    static final int CANCEL_REPLY = 3;

    void length(final int kind, final int bytes) {
        lengthCount[kind]++;
        lengthSum[kind] += bytes;
    }

    /** The mean length of a kind, rounded up. */
    long meanLength(final int kind) {
        return lengthCount[kind] == 0 ? 0 : (lengthSum[kind] + lengthCount[kind] - 1) / lengthCount[kind];
    }
}
