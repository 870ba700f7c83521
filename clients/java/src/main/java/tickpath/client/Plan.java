package tickpath.client;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.OptionalLong;
import tickpath.shared.ClientException;
import tickpath.shared.PlanKeys;
import tickpath.shared.Scheduling;

/**
 * A plan, as {@code clients/CONTRACT.md} describes it. Unknown keys are ignored.
 *
 * @param sbe orders in SBE; otherwise JSON over WebSocket
 * @param spins wait without sleeping
 * @param uring over io_uring; otherwise the command line decides
 * @param core core of the measuring thread; empty: don't pin
 * @param tls null: plain text
 * @param progress whether to print a line a second
 * @param exchangeProcess the exchange's process, if it runs on this machine
 */
record Plan(
        String subject,
        String host,
        int port,
        boolean sbe,
        boolean spins,
        boolean uring,
        OptionalInt core,
        Scheduling scheduling,
        Load load,
        double warmUpSeconds,
        double seconds,
        Path hlog,
        Trust tls,
        boolean progress,
        OptionalLong exchangeProcess) {

    /** `load` of a plan. */
    record Load(
            boolean open,
            double ratePerSecond,
            Schedule.Arrival arrival,
            long burst,
            long seed,
            int accounts,
            int connections,
            int cancelAfter,
            String instrument,
            String side,
            String price,
            String amount,
            long firstToken) {

        /**
         * Messages of open loop in that time, rounded up to blocks of orders with their cancels.
         */
        long messages(final double seconds) {
            final long block = 2L * cancelAfter;
            return ((long) (ratePerSecond * seconds) + block - 1) / block * block;
        }
    }

    /**
     * The authorities that the exchange's certificate is checked against.
     *
     * @param ca a PEM file; null: {@code caPem}
     * @param caPem PEM text; null, too: the system's authorities
     * @param name the name in the certificate; null: the host of the target
     */
    record Trust(Path ca, String caPem, String name) {}

    static final double SECONDS_MAX = 30 * 86_400.0;
    private static final int ACCOUNTS_MAX = 10_000;
    private static final int CONNECTIONS_MAX = 4_096;
    private static final int CANCEL_AFTER_MAX = 10_000;
    private static final int BURST_MAX = 1_000_000;
    private static final int PORT_MAX = 65_535;
    private static final List<String> BACKENDS = List.of("spin", "block", "io_uring", "io_uring_spin");

    static Plan parse(final String line) throws ClientException {
        final PlanKeys keys = PlanKeys.of(line);
        final String wire = keys.string("wire");
        final boolean sbe = wire.equals("sbe");
        if (!sbe && !wire.equals("websocket-json")) {
            throw new ClientException("`wire` is \"" + wire + "\": this client speaks websocket-json and sbe");
        }
        if (keys.has("inject")) {
            throw new ClientException("the plan asks to `inject` faults: only `tickpath trade` can");
        }
        final String backend = keys.string("backend");
        if (!BACKENDS.contains(backend)) {
            throw new ClientException("`backend` is \"" + backend + "\": this client has " + String.join(", ", BACKENDS));
        }
        final Load load = load(keys.keys("load"));
        if (sbe && load.connections() != load.accounts()) {
            throw new ClientException("`load.connections` is " + load.connections()
                    + ": a session of SBE has one account, so it must be `load.accounts`");
        }
        final String target = keys.string("target");
        final int colon = target.lastIndexOf(':');
        return new Plan(
                keys.string("subject"),
                host(target, colon),
                port(target, colon),
                sbe,
                backend.contains("spin"),
                backend.contains("io_uring"),
                keys.core("core"),
                Scheduling.parse(keys.string("scheduling")),
                load,
                keys.number("warm_up_seconds", 0, SECONDS_MAX),
                keys.number("seconds", 0, SECONDS_MAX),
                Path.of(keys.string("hlog")),
                keys.has("tls") ? trust(keys.keys("tls")) : null,
                keys.flag("progress"),
                keys.has("exchange_process")
                        ? OptionalLong.of(keys.whole("exchange_process", 1, Integer.MAX_VALUE))
                        : OptionalLong.empty());
    }

    /** The plan of a rehearsal: against {@code port} on this machine, without a log. */
    Plan rehearsal(final int port, final Load rehearsed, final double rehearsalSeconds) {
        return new Plan(
                subject, "127.0.0.1", port, sbe, spins, uring, core, Scheduling.INHERITED, rehearsed, rehearsalSeconds / 2,
                rehearsalSeconds / 2, null, null, false, OptionalLong.empty());
    }

    private static String host(final String target, final int colon) throws ClientException {
        if (colon <= 0) {
            throw new ClientException("`target` is \"" + target + "\", and must be HOST:PORT");
        }
        final String host = target.substring(0, colon);
        return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
    }

    private static int port(final String target, final int colon) throws ClientException {
        try {
            final int port = Integer.parseInt(target.substring(colon + 1));
            if (port > 0 && port <= PORT_MAX) {
                return port;
            }
        } catch (final NumberFormatException e) {
            // It gets the error below.
        }
        throw new ClientException("`target` is \"" + target + "\", and its port must be 1 to " + PORT_MAX);
    }

    private static Load load(final PlanKeys keys) throws ClientException {
        final String model = keys.string("model");
        if (!model.equals("open") && !model.equals("ping-pong")) {
            throw new ClientException("`load.model` is \"" + model + "\": this client knows open and ping-pong");
        }
        final int accounts = (int) keys.whole("accounts", 1, ACCOUNTS_MAX);
        return new Load(
                model.equals("open"),
                keys.number("rate_per_second", Double.MIN_VALUE, Schedule.RATE_PER_SECOND_MAX),
                arrival(keys.string("arrival")),
                keys.whole("burst", 1, BURST_MAX),
                keys.whole("seed", Long.MIN_VALUE, Long.MAX_VALUE),
                accounts,
                (int) keys.whole("connections", 1, Math.min(accounts, CONNECTIONS_MAX)),
                (int) keys.whole("cancel_after", 1, CANCEL_AFTER_MAX),
                keys.string("instrument"),
                keys.string("side"),
                keys.string("price"),
                keys.string("amount"),
                keys.whole("first_token", 0, Long.MAX_VALUE - ACCOUNTS_MAX));
    }

    private static Schedule.Arrival arrival(final String name) throws ClientException {
        for (final Schedule.Arrival arrival : Schedule.Arrival.values()) {
            if (arrival.name().toLowerCase(Locale.ROOT).equals(name)) {
                return arrival;
            }
        }
        throw new ClientException("`load.arrival` is \"" + name + "\", and must be uniform, poisson or burst");
    }

    private static Trust trust(final PlanKeys keys) throws ClientException {
        return new Trust(
                keys.has("ca") ? Path.of(keys.string("ca")) : null,
                keys.has("ca_pem") ? keys.string("ca_pem") : null,
                keys.has("name") ? keys.string("name") : null);
    }
}
