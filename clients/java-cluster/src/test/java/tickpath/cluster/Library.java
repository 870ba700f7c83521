package tickpath.cluster;

import java.nio.file.Path;
import tickpath.shared.ClientException;

/** The engine's library, loaded once in the process of the tests. */
final class Library {
    /** Small, and with everything that an engine may have. */
    static final EngineShape SHAPE = new EngineShape(2, 1_000, 100, 10, 10, 4);

    private static boolean loaded;

    private Library() {}

    static synchronized void load() throws ClientException {
        if (!loaded) {
            NativeEngine.load(path());
            loaded = true;
        }
    }

    static Path path() {
        return Path.of(System.getProperty(Main.LIBRARY));
    }
}
