package tickpath.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tickpath.shared.ClientException;
import tickpath.shared.PlanKeys;

/**
 * The file that all members and gateways of a cluster have a copy of. docs/guide/cluster.md
 * describes its keys.
 *
 * @param members by number, from 0
 * @param engine null if the members have none
 * @param heartbeatTimeoutNs time without a heartbeat after which a member calls an election
 * @param electionTimeoutNs wait for votes; before it stands, a candidate waits up to half of it
 * @param diskTimeoutNs time after which a leader ends whose disk takes nothing of its copy
 * @param durable whether a member counts a command only once its disk has it
 * @param delayNs time by which a gateway delays each reply
 * @param jitterNs a random time below this is added to it
 * @param parent the process whose end ends this one; 0: none
 */
record ClusterFile(
        List<Address> members,
        EngineShape engine,
        long heartbeatTimeoutNs,
        long electionTimeoutNs,
        long diskTimeoutNs,
        boolean durable,
        long delayNs,
        long jitterNs,
        long parent) {

    private static final int HEARTBEAT_TIMEOUT_MS = 500;

    /** A candidate waits until then for the vote of a dead leader: a part of each pause. */
    private static final int ELECTION_TIMEOUT_MS = 100;

    /** A member that was held up for as long ends in any case, by a limit of Aeron. */
    private static final int DISK_TIMEOUT_MS = 10_000;

    private static final int TIMEOUT_MS_MIN = 20;
    private static final int TIMEOUT_MS_MAX = 60_000;
    private static final int MEMBERS_MAX = 7;
    private static final int DISTANCE_US_MAX = 1_000_000;

    /** Heartbeats in the time after which a leader counts as lost. */
    private static final int HEARTBEATS_PER_TIMEOUT = 10;

    static ClusterFile read(final Path path) throws ClientException {
        try {
            return parse(Files.readString(path));
        } catch (final IOException e) {
            throw new ClientException("the cluster's file can't be read: " + e, e);
        }
    }

    static ClusterFile parse(final String text) throws ClientException {
        final PlanKeys keys = PlanKeys.of(text);
        final List<Address> members = new ArrayList<>();
        for (final String member : keys.string("members").split(",", -1)) {
            members.add(Address.parse(member, keys));
        }
        if (members.size() > MEMBERS_MAX || members.size() % 2 == 0) {
            throw keys.wrong("members", "an odd number of addresses, up to " + MEMBERS_MAX);
        }
        return new ClusterFile(
                List.copyOf(members),
                keys.has("engine") ? EngineShape.of(keys.keys("engine")) : null,
                millis(keys, "heartbeat_timeout_ms", HEARTBEAT_TIMEOUT_MS),
                millis(keys, "election_timeout_ms", ELECTION_TIMEOUT_MS),
                millis(keys, "disk_timeout_ms", DISK_TIMEOUT_MS),
                keys.flag("durable"),
                TimeUnit.MICROSECONDS.toNanos(optional(keys, "delay_us", DISTANCE_US_MAX)),
                TimeUnit.MICROSECONDS.toNanos(optional(keys, "jitter_us", DISTANCE_US_MAX)),
                optional(keys, "parent", Long.MAX_VALUE));
    }

    private static long optional(final PlanKeys keys, final String key, final long max) throws ClientException {
        return keys.has(key) ? keys.whole(key, 0, max) : 0;
    }

    private static long millis(final PlanKeys keys, final String key, final int otherwise) throws ClientException {
        final long millis = keys.has(key) ? keys.whole(key, TIMEOUT_MS_MIN, TIMEOUT_MS_MAX) : otherwise;
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }

    EngineShape engineShape() throws ClientException {
        if (engine == null) {
            throw new ClientException("the cluster's file has no `engine`, which this verb needs");
        }
        return engine;
    }

    long heartbeatIntervalNs() {
        return heartbeatTimeoutNs / HEARTBEATS_PER_TIMEOUT;
    }

    /** The members as Aeron's consensus module wants them. */
    String consensusMembers() {
        final StringBuilder text = new StringBuilder();
        for (int number = 0; number < members.size(); number++) {
            final Address member = members.get(number);
            text.append(number).append(',').append(member.ingress());
            text.append(',').append(member.consensus()).append(',').append(member.log());
            text.append(',').append(member.catchUp()).append(',').append(member.archive()).append('|');
        }
        return text.toString();
    }

    /** The members as Aeron's client wants them. */
    String ingressEndpoints() {
        final List<String> endpoints = new ArrayList<>();
        for (int number = 0; number < members.size(); number++) {
            endpoints.add(number + "=" + members.get(number).ingress());
        }
        return String.join(",", endpoints);
    }

    /**
     * A member: five ports, from {@code port} on.
     *
     * @param port the first
     */
    record Address(String host, int port) {
        /** Ports of a member. */
        static final int PORTS = 5;

        private static final Pattern FORM = Pattern.compile("([^:,|]+):([0-9]{1,5})");
        private static final int PORT_MAX = 65_535;

        private static Address parse(final String text, final PlanKeys keys) throws ClientException {
            final Matcher matcher = FORM.matcher(text);
            if (matcher.matches()) {
                final int port = Integer.parseInt(matcher.group(2));
                if (port >= 1 && port <= PORT_MAX - PORTS + 1) {
                    return new Address(matcher.group(1), port);
                }
            }
            throw keys.wrong("members", "HOST:PORT,HOST:PORT,…, each with a port up to " + (PORT_MAX - PORTS + 1));
        }

        String ingress() {
            return host + ":" + port;
        }

        String consensus() {
            return host + ":" + (port + 1);
        }

        String log() {
            return host + ":" + (port + 2);
        }

        String catchUp() {
            return host + ":" + (port + 3);
        }

        String archive() {
            return host + ":" + (port + 4);
        }
    }
}
