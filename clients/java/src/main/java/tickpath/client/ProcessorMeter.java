package tickpath.client;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.OptionalLong;

/**
 * Processor time, user and system, of this process and of the exchange's, each with all threads.
 * The kernel tells it here in steps of 10 ms (proc_pid_stat(5)): 1 % of a run of a second.
 */
final class ProcessorMeter implements AutoCloseable {
    /** USER_HZ, which programs see as 100 on every processor that this client runs on. */
    private static final long NS_PER_TICK = 10_000_000;

    private static final int USER_TICKS = 11;
    private static final int SYSTEM_TICKS = 12;
    private static final int FILE_BYTES_MAX = 4096;

    private final End client;
    private final End exchange;

    /** One process: its file, and what that said when the measured part began and ended. */
    private static final class End implements AutoCloseable {
        private final FileChannel stat;
        private final ByteBuffer before = ByteBuffer.allocateDirect(FILE_BYTES_MAX);
        private final ByteBuffer after = ByteBuffer.allocateDirect(FILE_BYTES_MAX);

        /** Null, or a process that does not exist, has no figures. */
        End(final String process) {
            FileChannel opened = null;
            if (process != null) {
                try {
                    opened = FileChannel.open(Path.of("/proc", process, "stat"));
                } catch (final IOException e) {
                    // It stays unknown.
                }
            }
            stat = opened;
        }

        /** Leaves the buffer empty if the process has ended. */
        void read(final ByteBuffer into) {
            into.clear();
            try {
                if (stat != null) {
                    stat.read(into, 0);
                }
            } catch (final IOException e) {
                into.clear();
            }
            into.flip();
        }

        OptionalLong usedNs() {
            final OptionalLong from = ticks(before);
            final OptionalLong to = ticks(after);
            return from.isEmpty() || to.isEmpty()
                    ? OptionalLong.empty()
                    : OptionalLong.of((to.getAsLong() - from.getAsLong()) * NS_PER_TICK);
        }

        private static OptionalLong ticks(final ByteBuffer file) {
            final String line = StandardCharsets.US_ASCII.decode(file.duplicate()).toString();
            // A name may contain anything: the fields begin after its parenthesis.
            final String[] fields = line.substring(line.lastIndexOf(')') + 1).strip().split(" ");
            return fields.length <= SYSTEM_TICKS
                    ? OptionalLong.empty()
                    : OptionalLong.of(Long.parseLong(fields[USER_TICKS]) + Long.parseLong(fields[SYSTEM_TICKS]));
        }

        @Override
        public void close() throws IOException {
            if (stat != null) {
                stat.close();
            }
        }
    }

    /** @param exchangeProcess a process of this machine */
    ProcessorMeter(final OptionalLong exchangeProcess) {
        client = new End("self");
        exchange = new End(exchangeProcess.isPresent() ? Long.toString(exchangeProcess.getAsLong()) : null);
    }

    /** Begins the measured part. */
    void begin() {
        client.read(client.before);
        exchange.read(exchange.before);
    }

    /** Ends the measured part. */
    void end() {
        client.read(client.after);
        exchange.read(exchange.after);
    }

    /** `load.processor` of a result; null if this process's own time can't be told. */
    JsonObject json(final boolean spins) {
        final OptionalLong clientNs = client.usedNs();
        final OptionalLong exchangeNs = exchange.usedNs();
        if (clientNs.isEmpty()) {
            return null;
        }
        final JsonObject json = new JsonObject();
        json.addProperty("client_ns", clientNs.getAsLong());
        if (exchangeNs.isPresent()) {
            json.addProperty("exchange_ns", exchangeNs.getAsLong());
        } else {
            json.add("exchange_ns", JsonNull.INSTANCE);
        }
        final JsonArray spinning = new JsonArray();
        if (spins) {
            spinning.add("client");
        }
        json.add("spinning", spinning);
        return json;
    }

    @Override
    public void close() throws IOException {
        client.close();
        exchange.close();
    }
}
