package tickpath.client;

import tickpath.shared.ClientException;

/** Orders in one dialect, on all lanes of a run. */
interface Dialect {
    /** The reader of a lane's stream. */
    StreamReader reader(int lane);

    /** Logs the accounts of a connected lane on. */
    void logOn(LogOn steps, Lane lane) throws LogOn.Failure, ClientException;

    /** Encodes a message into {@code out} from its beginning. Returns its length. */
    int encode(byte[] out, boolean isOrder, long number, int account);

    /** Reads the messages that arrived on a lane, and tells the desk. */
    void received(Lane lane, Desk desk);

    /** The dialect of a plan; {@code nonce} differs between runs against the same exchange. */
    static Dialect of(final Plan plan, final int nonce) {
        return plan.sbe() ? new SbeOrders(plan, nonce) : new JsonOrders(plan, nonce);
    }
}
