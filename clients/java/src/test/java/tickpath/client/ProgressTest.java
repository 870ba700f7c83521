package tickpath.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class ProgressTest {
    private static final long SECOND_NS = 1_000_000_000;

    /** The series of an interval with {@code orders} orders and as many cancels. */
    private static Histogram[] series(final long orders) {
        final Histogram[] series = new Histogram[Recorder.SERIES];
        for (int index = 0; index < series.length; index++) {
            series[index] = new Histogram(1, Histograms.LATENCY_NS_MAX, 3);
            series[index].recordValueWithCount(1_000L * (index + 1), index == Recorder.SEND_LATENESS ? 2 * orders : orders);
        }
        return series;
    }

    @Test
    void aSecondHasItsRateAndOnlyThePercentilesThatItsSampleSupports() {
        final List<String> lines = new ArrayList<>();
        final Progress open = new Progress(true, lines::add);
        open.report(5 * SECOND_NS, 6 * SECOND_NS, series(999));
        open.report(6 * SECOND_NS, 8 * SECOND_NS, series(1_000));
        // The fragment at the end of a run.
        open.report(8 * SECOND_NS, 8 * SECOND_NS + 9, series(1));
        new Progress(false, lines::add).report(0, SECOND_NS, series(5));
        assertEquals(
                List.of(
                        "{\"progress\":{\"seconds\":1.0,\"messages_per_second\":1998.0,\"series\":\"order.response\","
                                + "\"p50_ns\":1000,\"p99_ns\":null,\"buckets\":[[-159,999]],\"sum_ns\":999000}}",
                        "{\"progress\":{\"seconds\":3.0,\"messages_per_second\":1000.0,\"series\":\"order.response\","
                                + "\"p50_ns\":1000,\"p99_ns\":1000,\"buckets\":[[-159,1000]],\"sum_ns\":1000000}}",
                        "{\"progress\":{\"seconds\":1.0,\"messages_per_second\":10.0,\"series\":\"order.service\","
                                + "\"p50_ns\":null,\"p99_ns\":null,\"buckets\":[[-151,5]],\"sum_ns\":10000}}"),
                lines);
    }

    @Test
    void aBucketHoldsItsUpperBoundAndNotItsLowerOne() {
        for (final int index : new int[] {-150, -132, -8, -1, 0, 1, 24}) {
            final double ns = Math.pow(2, index / 8.0) * 1e9;
            assertEquals(index, Progress.bucket((long) Math.floor(ns)));
            assertEquals(index + 1, Progress.bucket((long) Math.ceil(ns) + 2));
        }
        assertEquals(Progress.bucket(1), Progress.bucket(0));
    }
}
