package tickpath.ipc;

import java.io.IOException;
import java.nio.file.Path;
import org.agrona.concurrent.UnsafeBuffer;
import tickpath.shared.ClientException;

/**
 * A peer: it carries messages of one length from one thread to another. Only the producing thread
 * calls {@link #send}, only the consuming one {@link #receive}; the other methods are for the time
 * before and after.
 */
interface Channel extends AutoCloseable {
    /**
     * Sends a message, without waiting and without allocating.
     *
     * @return false if the structure is full
     */
    boolean send(UnsafeBuffer message);

    /**
     * Spins, and passes each message to the consumer as soon as it can be read, until the consumer
     * {@linkplain Consumer#isOver is over}.
     */
    void receive();

    /**
     * Ends {@link #receive}, from any thread, when the consumer was {@linkplain Consumer#stop
     * stopped}.
     */
    default void interrupt() {}

    @Override
    void close();

    /**
     * Makes the structure that the plan asks for.
     *
     * @param directory an empty directory for its files; the caller removes it
     * @param spareCore whether there is a core without a measured thread
     */
    static Channel open(final Plan plan, final Consumer consumer, final Path directory, final boolean spareCore)
            throws ClientException, IOException {
        return switch (plan.structure()) {
            case AERON -> new AeronChannel(plan, consumer, directory, spareCore);
            case AGRONA -> new AgronaChannel(plan, consumer);
            case DISRUPTOR -> new DisruptorChannel(plan, consumer);
            case CHRONICLE -> new ChronicleChannel(plan, consumer, directory);
        };
    }
}
