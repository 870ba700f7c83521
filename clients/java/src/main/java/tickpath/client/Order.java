package tickpath.client;

/** An order and its cancel, from their intended sends to their replies. */
final class Order {
    static final byte UNSENT = 0;
    static final byte IN_FLIGHT = 1;
    static final byte ANSWERED = 2;

    /** -1: the slot is free. */
    long number = -1;

    int account;
    /** False in the warm-up. */
    boolean measured;

    byte order;
    long orderIntendedNs;
    long orderSentNs;
    long orderSequence;

    byte cancel;
    long cancelIntendedNs;
    long cancelSentNs;
    long cancelSequence;

    boolean isOver() {
        return order != IN_FLIGHT && cancel != IN_FLIGHT;
    }

    void open(final long newNumber, final int newAccount, final boolean isMeasured) {
        number = newNumber;
        account = newAccount;
        measured = isMeasured;
        order = UNSENT;
        cancel = UNSENT;
        orderSentNs = 0;
        cancelSentNs = 0;
    }
}
