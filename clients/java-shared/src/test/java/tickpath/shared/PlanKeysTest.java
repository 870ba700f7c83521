package tickpath.shared;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PlanKeysTest {
    private static void assertError(final String expected, final Executable read) {
        assertEquals(expected, assertThrows(ClientException.class, read).getMessage());
    }

    @Test
    void readsValuesOfEachKind() throws ClientException {
        final PlanKeys keys = PlanKeys.of(
                "{\"text\": \"a\", \"number\": 1.5, \"whole\": 2.0, \"flag\": true, \"core\": 3, \"none\": null,"
                        + " \"cores\": [1, null], \"load\": {\"model\": \"open\"}}");
        assertEquals("a", keys.string("text"));
        assertEquals(1.5, keys.number("number", 0, 2));
        assertEquals(2, keys.whole("whole", 0, 2));
        assertTrue(keys.flag("flag"));
        assertFalse(keys.flag("none") || keys.flag("absent") || keys.has("none"));
        assertEquals(OptionalInt.of(3), keys.core("core"));
        assertEquals(OptionalInt.empty(), keys.core("none"));
        assertArrayEquals(new OptionalInt[] {OptionalInt.of(1), OptionalInt.empty()}, keys.cores("cores", 2, "[A, B]"));
        assertEquals("open", keys.keys("load").string("model"));
    }

    @Test
    void errorsNameTheKeyAndItsValueAndTheLimits() throws ClientException {
        final PlanKeys keys = PlanKeys.of(
                "{\"load\": {\"burst\": 7, \"rate\": 0, \"side\": 1, \"all\": \"x\", \"cores\": [1], \"core\": 4096}}").keys("load");
        assertError("the plan has no `load.price`", () -> keys.string("price"));
        assertError("`load.burst` is 7, and must be a whole number from 1 to 6", () -> keys.whole("burst", 1, 6));
        assertError("`load.rate` is 0, and must be a number from 0.5 to 2.0", () -> keys.number("rate", 0.5, 2));
        assertError("`load.side` is 1, and must be a string", () -> keys.string("side"));
        assertError("`load.all` is \"x\", and must be true or false", () -> keys.flag("all"));
        assertError("`load.all` is \"x\", and must be an object", () -> keys.keys("all"));
        assertError("`load.cores` is [1], and must be [A, B]", () -> keys.cores("cores", 2, "[A, B]"));
        assertError("`load.core` is 4096, and must be a whole number from 0 to 4095", () -> keys.core("core"));
    }

    @Test
    void aSeedHas64BitsWithoutASign() throws ClientException {
        final PlanKeys keys = PlanKeys.of("{\"seed\": 18446744073709551615, \"more\": 18446744073709551616}");
        assertEquals(-1, keys.whole("seed", Long.MIN_VALUE, Long.MAX_VALUE));
        assertThrows(ClientException.class, () -> keys.whole("more", Long.MIN_VALUE, Long.MAX_VALUE));
    }

    @ParameterizedTest
    @ValueSource(strings = {"1.5", "-18446744073709551611", "18446744073709551621", "1e30", "-1", "\"5\"", "[5]"})
    void aWholeNumberThatDoesNotFitIsNotWrapped(final String value) throws ClientException {
        final PlanKeys keys = PlanKeys.of("{\"messages\": " + value + "}");
        assertThrows(ClientException.class, () -> keys.whole("messages", 0, 10));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[]", "7", "{\"a\": }", "{'a': 1}", "\u0000", "{\"a\": 1, \"a\": 2}", "{} {}"})
    void aPlanIsOneObject(final String line) {
        final String message = assertThrows(ClientException.class, () -> PlanKeys.of(line)).getMessage();
        assertTrue(message.startsWith("the plan is no line with one JSON object: "), message);
    }
}
