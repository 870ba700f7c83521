package tickpath.client;

/** A flag that ends the run early, set from any thread. */
final class Stop {
    private volatile boolean set;

    void set() {
        set = true;
    }

    boolean isSet() {
        return set;
    }
}
