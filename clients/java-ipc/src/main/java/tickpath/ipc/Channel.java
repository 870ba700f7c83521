package tickpath.ipc;

import java.io.IOException;
import java.nio.file.Path;
import org.agrona.concurrent.UnsafeBuffer;
import tickpath.shared.ClientException;

/**
 * A peer: messages of one length from one thread to one other. {@link #send} is called by the
 * producing thread alone, {@link #receive} by the consuming one; the rest happens before they
 * begin and after they have ended.
 */
interface Channel extends AutoCloseable {
    /**
     * Sends a message, without waiting and without allocating.
     *
     * @return false if the structure is full
     */
    boolean send(UnsafeBuffer message);

    /**
     * Spins, and hands over each message as soon as it can be read, until the consumer {@linkplain
     * Consumer#isOver is over}.
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
     * @param directory an empty one for its files, which the caller removes
     * @param spareCore whether there is a core on which nobody is measured
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
