package tickpath.cluster;

import tickpath.shared.ClientException;
import tickpath.shared.PlanKeys;

/**
 * The arguments of a new engine: {@code engine::EngineLimits}. All members need the same, and a
 * cluster keeps what its first start had.
 */
record EngineShape(
        int instruments,
        int openOrdersMax,
        int priceLevelsMax,
        int stopLevelsMax,
        int expiringOrdersMax,
        int accountsMax) {

    /** With these a saved engine stays below 2 GiB, as much as a buffer of Java has room for. */
    static final int OPEN_ORDERS_MAX = 1 << 22;

    static final int POSITIONS_MAX = 1 << 22;

    private static final int INSTRUMENTS_MAX = 65_535;

    static EngineShape of(final PlanKeys keys) throws ClientException {
        final EngineShape shape = new EngineShape(
                (int) keys.whole("instruments", 1, INSTRUMENTS_MAX),
                (int) keys.whole("open_orders_max", 1, OPEN_ORDERS_MAX),
                (int) keys.whole("price_levels_max", 1, OPEN_ORDERS_MAX),
                (int) keys.whole("stop_levels_max", 0, OPEN_ORDERS_MAX),
                (int) keys.whole("expiring_orders_max", 0, OPEN_ORDERS_MAX),
                (int) keys.whole("accounts_max", 0, POSITIONS_MAX));
        if ((long) shape.instruments * shape.accountsMax > POSITIONS_MAX) {
            throw keys.wrong("accounts_max", "at most " + POSITIONS_MAX / shape.instruments + ", because "
                    + shape.instruments + " instruments times accounts is limited to " + POSITIONS_MAX);
        }
        return shape;
    }
}
