package tickpath.ipc;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import tickpath.shared.ClientException;
import tickpath.shared.PlanKeys;
import tickpath.shared.Scheduling;

/**
 * A plan, as {@code clients/IPC.md} describes it. Unknown keys are ignored, as are those that this
 * structure does not need.
 *
 * @param cores cores of the producer and of the consumer; empty: don't pin
 */
record Plan(
        Structure structure,
        int messageBytes,
        int slots,
        long blockBytes,
        double ratePerSecond,
        int warmUpMessages,
        int messages,
        List<OptionalInt> cores,
        Scheduling scheduling,
        Path directory,
        Path samples) {

    /** The structures of the peers. */
    enum Structure {
        AERON,
        AGRONA,
        DISRUPTOR,
        CHRONICLE;

        String inPlans() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** The first 16 bytes are index and stamp. */
    static final int MESSAGE_BYTES_MIN = 16;

    /** Payload of an IPC frame of Aeron. */
    static final int MESSAGE_BYTES_MAX = 65_472;

    static final int SLOTS_MAX = 1 << 20;

    /** Limit on the bytes of all slots together. */
    static final long STRUCTURE_BYTES_MAX = 1 << 28;

    /** The largest page size of the supported machines. */
    static final long BLOCK_BYTES_STEP = 1 << 16;

    static final long BLOCK_BYTES_MAX = 1L << 32;

    /** Warm-up and measured part together: one array has two samples of each message. */
    static final int MESSAGES_MAX = 1 << 29;

    /** Many times the calls after which the last compiler compiles a method. */
    static final int REHEARSAL_MESSAGES = 200_000;

    /** Small, so that the rehearsal changes blocks, too. */
    static final long REHEARSAL_BLOCK_BYTES = 1 << 24;

    int messagesInAll() {
        return warmUpMessages + messages;
    }

    /**
     * The plan of a rehearsal: few messages at the highest rate. In a warm-up at the plan's rate no
     * structure is ever full, and compiled code is discarded at the first branch that was not seen
     * before.
     */
    Plan rehearsal() {
        final long block = Math.min(blockBytes, REHEARSAL_BLOCK_BYTES);
        return new Plan(
                structure, messageBytes, slots, block, Schedule.RATE_PER_SECOND_MAX, 0, REHEARSAL_MESSAGES, cores, scheduling,
                directory, samples);
    }

    static Plan parse(final String line) throws ClientException {
        final PlanKeys keys = PlanKeys.of(line);
        final Structure structure = structure(keys.string("structure"));
        final Plan plan = new Plan(
                structure,
                (int) keys.whole("message_bytes", MESSAGE_BYTES_MIN, MESSAGE_BYTES_MAX),
                structure == Structure.CHRONICLE ? 0 : (int) keys.whole("slots", 2, SLOTS_MAX),
                structure == Structure.CHRONICLE ? keys.whole("block_bytes", BLOCK_BYTES_STEP, BLOCK_BYTES_MAX) : 0,
                keys.number("rate_per_second", Schedule.RATE_PER_SECOND_MIN, Schedule.RATE_PER_SECOND_MAX),
                (int) keys.whole("warm_up_messages", 0, MESSAGES_MAX),
                (int) keys.whole("messages", 1, MESSAGES_MAX),
                List.of(keys.cores("cores", 2, "[PRODUCER, CONSUMER]")),
                Scheduling.parse(keys.string("scheduling")),
                Path.of(keys.string("directory")),
                Path.of(keys.string("samples")));
        plan.check(keys);
        return plan;
    }

    private void check(final PlanKeys keys) throws ClientException {
        if (keys.whole("keys", 1, Integer.MAX_VALUE) != 1) {
            throw new ClientException("`keys` must be 1: these peers don't conflate");
        }
        if (messageBytes % Long.BYTES != 0) {
            throw new ClientException("`message_bytes` is " + messageBytes + ", and must be a multiple of 8");
        }
        if (Integer.bitCount(slots) > 1) {
            throw new ClientException("`slots` is " + slots + ", and must be a power of two");
        }
        if ((long) slots * messageBytes > STRUCTURE_BYTES_MAX) {
            throw new ClientException("`slots` times `message_bytes` is more than " + STRUCTURE_BYTES_MAX + " bytes");
        }
        if (blockBytes % BLOCK_BYTES_STEP != 0) {
            throw new ClientException("`block_bytes` is " + blockBytes + ", and must be a multiple of " + BLOCK_BYTES_STEP);
        }
        if ((long) warmUpMessages + messages > MESSAGES_MAX) {
            throw new ClientException("`warm_up_messages` and `messages` are more than " + MESSAGES_MAX + " together");
        }
        if (!Files.isDirectory(directory)) {
            throw new ClientException("`directory` is " + directory + ": there is no such directory");
        }
        if (!Files.isDirectory(samples.toAbsolutePath().getParent())) {
            throw new ClientException("`samples` is " + samples + ": its directory does not exist");
        }
    }

    private static Structure structure(final String name) throws ClientException {
        for (final Structure structure : Structure.values()) {
            if (structure.inPlans().equals(name)) {
                return structure;
            }
        }
        final String known =
                Arrays.stream(Structure.values()).map(Structure::inPlans).collect(Collectors.joining(", "));
        throw new ClientException("there is no `structure` \"" + name + "\" here: take one of " + known);
    }
}
