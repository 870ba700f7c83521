package tickpath.cluster;

/**
 * Offsets in the messages between a gateway and the cluster, all numbers little-endian.
 * clients/CLUSTER.md describes them.
 */
final class Messages {
    /** Ingress and egress: the gateway, not 0. */
    static final int GATEWAY = 0;

    /** Ingress and egress: the command's number at its gateway, from 1; 0 to resume. */
    static final int NUMBER = 8;

    /** Ingress: the gateway has all replies up to this number. */
    static final int DONE = 16;

    /** Ingress: the command. */
    static final int RECORD = 24;

    static final int BARE_BYTES = RECORD;
    static final int COMMAND_BYTES = RECORD + NativeEngine.RECORD_BYTES;

    /** Egress: the number of the command among all of the cluster. */
    static final int SEQUENCE = 16;

    /** Egress: when the cluster sequenced the command, in nanoseconds since 1970. */
    static final int TIME = 24;

    /** Egress: the number of events of the reply, 32 bits. */
    static final int EVENTS = 32;

    /** Egress: the number of events of the reply in earlier messages, 32 bits. */
    static final int EARLIER = 36;

    /** Egress: events; of a checkpoint the state hash. */
    static final int BODY = 40;

    /** Events of a message; the other events of a reply follow in further messages. */
    static final int EVENTS_PER_MESSAGE = 64;

    static final int REPLY_BYTES_MAX = BODY + EVENTS_PER_MESSAGE * NativeEngine.RECORD_BYTES;

    /** Commands of a gateway without a reply, or with one that it has not said to have. */
    static final int WINDOW = 1 << 14;

    /** Gateways of a cluster. */
    static final int GATEWAYS_MAX = 64;

    private Messages() {}
}
