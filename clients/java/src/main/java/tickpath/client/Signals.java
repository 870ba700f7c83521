package tickpath.client;

import java.lang.reflect.Proxy;

/**
 * Signals that end a run early. They have handlers, not shutdown hooks: a signal only sets a flag,
 * so the exit status is always the run's. They are set by reflection, because the compiler warns of
 * the class (jdk.unsupported), and that warning can't be suppressed.
 */
final class Signals {
    private Signals() {}

    static void set(final Stop stop) {
        try {
            final Class<?> signal = Class.forName("sun.misc.Signal");
            final Class<?> handler = Class.forName("sun.misc.SignalHandler");
            final Object setter = Proxy.newProxyInstance(
                    Signals.class.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> {
                        stop.set();
                        return null;
                    });
            for (final String name : new String[] {"INT", "TERM"}) {
                signal.getMethod("handle", signal, handler)
                        .invoke(null, signal.getConstructor(String.class).newInstance(name), setter);
            }
        } catch (final ReflectiveOperationException e) {
            throw new IllegalStateException("this Java has no sun.misc.Signal", e);
        }
    }
}
