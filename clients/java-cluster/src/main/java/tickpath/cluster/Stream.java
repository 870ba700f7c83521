package tickpath.cluster;

/**
 * Offsets in the messages between an exchange's gateway and the cluster, all numbers little-endian.
 * clients/CLUSTER.md describes them.
 */
final class Stream {
    /** Ingress and egress: the place in the connection's stream of the first byte. */
    static final int AT = 0;

    /** Ingress: the bytes. */
    static final int BYTES = 8;

    /** Egress: the number of bytes of the stream that were taken, 32 bits. */
    static final int TAKEN = 8;

    /** Egress: whether the connection is over, 32 bits. */
    static final int OVER = 12;

    /** Egress: bytes for the exchange. */
    static final int REPLY = 16;

    /** Bytes of the stream in a message: with Aeron's header less than an eighth of a term. */
    static final int BYTES_MAX = 30_000;

    private Stream() {}
}
