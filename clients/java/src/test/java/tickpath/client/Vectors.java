package tickpath.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import tickpath.shared.Json;

/** The golden bytes of clients/vectors. */
final class Vectors {
    static final String CLIENT_ID = "6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60";

    /** a1 b2 c3 d4, little endian. */
    static final int MASK = 0xd4c3b2a1;

    private static final Path DIRECTORY = Path.of("../vectors");

    private Vectors() {}

    static byte[] bytes(final String name) throws IOException {
        return Files.readAllBytes(DIRECTORY.resolve(name));
    }

    static String text(final String name) throws IOException {
        return new String(bytes(name), StandardCharsets.UTF_8);
    }

    /** The tags that every client logs under this load. */
    static Set<String> tags(final String model, final String subject) throws IOException {
        final Set<String> tags = new TreeSet<>();
        Json.object(text("log/tags.json")).getAsJsonArray(model).forEach(series -> tags.add(subject + "." + series.getAsString()));
        return tags;
    }

    /** The names in a folder with this ending, in order. Throws if there are none. */
    static List<String> names(final String folder, final String suffix) throws IOException {
        try (Stream<Path> files = Files.list(DIRECTORY.resolve(folder))) {
            final List<String> names = files.map(file -> DIRECTORY.relativize(file).toString())
                    .filter(name -> name.endsWith(suffix)).sorted().toList();
            if (names.isEmpty()) {
                throw new IOException("no *" + suffix + " in clients/vectors/" + folder);
            }
            return names;
        }
    }
}
