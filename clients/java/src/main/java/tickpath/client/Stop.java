package tickpath.client;

/** Says that the run is to end before its time, from any thread. */
final class Stop {
    private volatile boolean set;

    void set() {
        set = true;
    }

    boolean isSet() {
        return set;
    }
}
