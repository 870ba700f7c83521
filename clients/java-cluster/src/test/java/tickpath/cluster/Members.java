package tickpath.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.aeron.cluster.ClusterTool;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.agrona.IoUtil;
import tickpath.shared.ClientException;

/** The three members of a cluster as processes of the jar, on ports that were free. */
final class Members implements AutoCloseable {
    static final int COUNT = 3;

    /** The exit status of a JVM that SIGTERM has ended. */
    static final int TERMINATED = 143;

    private static final long END_SECONDS_MAX = 60;
    private static final int PORT_MIN = 20_000;
    private static final int PORT_MAX = 60_000;
    private static final String HOST = "127.0.0.1";

    private final Path directory;
    private final Path file;
    private final Process[] processes = new Process[COUNT];
    /** Lines of JSON on stdout, of all processes of each member so far. */
    private final List<List<JsonObject>> lines = new ArrayList<>();

    private final ClusterFile cluster;

    Members(final Path directory, final EngineShape shape) throws IOException, ClientException {
        this.directory = directory;
        file = directory.resolve("cluster.json");
        final List<String> addresses = new ArrayList<>();
        while (addresses.size() < COUNT) {
            final String address = HOST + ":" + freePorts();
            if (!addresses.contains(address)) {
                addresses.add(address);
            }
            lines.add(new CopyOnWriteArrayList<>());
        }
        Files.writeString(file, "{\"members\":\"" + String.join(",", addresses) + "\",\n\"engine\":{\"instruments\":"
                + shape.instruments() + ",\"open_orders_max\":" + shape.openOrdersMax() + ",\"price_levels_max\":"
                + shape.priceLevelsMax() + ",\"stop_levels_max\":" + shape.stopLevelsMax()
                + ",\"expiring_orders_max\":" + shape.expiringOrdersMax() + ",\"accounts_max\":"
                + shape.accountsMax() + "}}\n");
        cluster = ClusterFile.read(file);
    }

    /** The first of as many free ports as a member needs, at a multiple of them. */
    private static int freePorts() throws IOException {
        final int ports = ClusterFile.Address.PORTS;
        while (true) {
            final int first = ThreadLocalRandom.current().nextInt(PORT_MIN / ports, PORT_MAX / ports) * ports;
            int free = 0;
            while (free < ports && isFree(first + free)) {
                free++;
            }
            if (free == ports) {
                return first;
            }
        }
    }

    private static boolean isFree(final int port) throws IOException {
        try (DatagramSocket socket = new DatagramSocket(new InetSocketAddress(InetAddress.getByName(HOST), port))) {
            return socket.isBound();
        } catch (final SocketException e) {
            return false;
        }
    }

    ClusterFile cluster() {
        return cluster;
    }

    void start(final int member) throws IOException {
        start(member, "member");
    }

    private void start(final int member, final String verb) throws IOException {
        final String name = "member-" + member;
        final Process process = run(
                name,
                verb,
                file.toString(),
                Integer.toString(member),
                directory.resolve(name).toString());
        processes[member] = process;
        final Thread reader = new Thread(() -> read(process, lines.get(member)));
        reader.setDaemon(true);
        reader.start();
    }

    /** A process of the jar, with its messages in a file of that name. */
    private Process run(final String name, final String... arguments) throws IOException {
        final List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "@" + Path.of("java.args").toAbsolutePath(),
                "-D" + Main.LIBRARY + "=" + Library.path().toAbsolutePath(),
                "-jar",
                System.getProperty("tickpath.jar")));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.appendTo(
                        directory.resolve(name + ".stderr").toFile()))
                .start();
    }

    /** A load that lasts for longer than a test. */
    Process measure(final long gateway) throws IOException {
        return run("measure", "measure", file.toString(), Long.toString(gateway), HOST, "100", "3600");
    }

    void startAll() throws IOException {
        startAll("member");
    }

    void startAll(final String verb) throws IOException {
        for (int member = 0; member < COUNT; member++) {
            start(member, verb);
        }
    }

    /** The member that has last said that it leads; -1 for none. */
    int leader() {
        for (int member = 0; member < COUNT; member++) {
            final List<JsonObject> roles =
                    lines.get(member).stream().filter(line -> line.has("role")).toList();
            if (!roles.isEmpty() && roles.get(roles.size() - 1).get("role").getAsString().equals("leader")) {
                return member;
            }
        }
        return -1;
    }

    private static void read(final Process process, final List<JsonObject> into) {
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            String line = out.readLine();
            while (line != null) {
                into.add(JsonParser.parseString(line).getAsJsonObject());
                line = out.readLine();
            }
        } catch (final IOException e) {
            // The process was killed.
        }
    }

    /** SIGKILL, and the wait for it. */
    void kill(final int member) {
        processes[member].destroyForcibly().onExit().join();
    }

    /** Holds a member up, or lets it go on: SIGSTOP, SIGCONT. */
    void signal(final int member, final String signal) throws IOException {
        final Process kill =
                new ProcessBuilder("kill", "-" + signal, Long.toString(processes[member].pid())).start();
        assertEquals(0, kill.onExit().join().exitValue());
    }

    /**
     * SIGTERM, and the wait for the end. It does what Ctrl-C does, which a process that a script
     * has started in the background ignores.
     */
    static int terminate(final Process process) {
        process.destroy();
        return process.onExit().orTimeout(END_SECONDS_MAX, TimeUnit.SECONDS).join().exitValue();
    }

    int terminate(final int member) {
        return terminate(processes[member]);
    }

    void killAll() {
        for (int member = 0; member < COUNT; member++) {
            kill(member);
        }
    }

    boolean isAlive(final int member) {
        return processes[member].isAlive();
    }

    /** How often a member has reached a checkpoint, with its state hash there; "" for never. */
    List<String> checkpoint(final int member, final long number) {
        return lines.get(member).stream()
                .filter(line -> line.has("checkpoint") && line.get("checkpoint").getAsLong() == number)
                .map(line -> line.get("state_hash").getAsString())
                .toList();
    }

    /** Asks Aeron's tool for a snapshot of the cluster. */
    boolean snapshot(final int leader) {
        final PrintStream nothing = new PrintStream(PrintStream.nullOutputStream());
        return ClusterTool.snapshot(directory.resolve("member-" + leader).resolve("cluster").toFile(), nothing);
    }

    /** Everything that the members said on stderr, for the message of a failed test. */
    String complaints() {
        final StringBuilder text = new StringBuilder();
        try (Stream<Path> files = Files.list(directory)) {
            for (final Path one : files.filter(path -> path.toString().endsWith(".stderr")).toList()) {
                text.append(one.getFileName()).append(":\n").append(Files.readString(one));
            }
        } catch (final IOException e) {
            fail(e);
        }
        return text.toString();
    }

    @Override
    public void close() {
        for (int member = 0; member < COUNT; member++) {
            if (processes[member] != null) {
                kill(member);
            }
            IoUtil.delete(Main.memory(cluster.members().get(member)).toFile(), true);
        }
    }
}
