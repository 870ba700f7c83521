package tickpath.client;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/**
 * Progress lines of a run, one a second, as {@code clients/CONTRACT.md} describes them. Used on the
 * thread of the histograms.
 */
final class Progress {
    /** A shorter interval is the fragment at the end of a run. */
    private static final long SECOND_NS_MIN = 500_000_000;

    /** A percentile needs this many samples above it. */
    private static final double SAMPLES_BEYOND_MIN = 10;

    /** 10 000 * (1 - 0.999) is 9.99..9 in binary. */
    private static final double SLACK = 1 + 1e-9;

    private static final double BUCKETS_PER_DOUBLING = 8;

    private final boolean isOpen;
    private final Consumer<String> lines;
    private long firstNs = Long.MIN_VALUE;

    /** @param lines takes each line of JSON */
    Progress(final boolean isOpen, final Consumer<String> lines) {
        this.isOpen = isOpen;
        this.lines = lines;
    }

    /** Reports an interval that ended, unless it is a fragment. */
    void report(final long startNs, final long endNs, final Histogram[] series) {
        if (firstNs == Long.MIN_VALUE) {
            firstNs = startNs;
        }
        final long lengthNs = endNs - startNs;
        if (lengthNs < SECOND_NS_MIN) {
            return;
        }
        final Histogram values = series[isOpen ? Recorder.ORDER_RESPONSE : Recorder.ORDER_SERVICE];
        final long messages = isOpen
                ? series[Recorder.SEND_LATENESS].getTotalCount()
                : values.getTotalCount() + series[Recorder.CANCEL_SERVICE].getTotalCount();
        final JsonObject second = new JsonObject();
        second.addProperty("seconds", (endNs - firstNs) / 1e9);
        second.addProperty("messages_per_second", messages * 1e9 / lengthNs);
        second.addProperty("series", isOpen ? "order.response" : "order.service");
        addPercentile(second, "p50_ns", values, 50);
        addPercentile(second, "p99_ns", values, 99);
        addBuckets(second, values);
        final JsonObject line = new JsonObject();
        line.add("progress", second);
        lines.accept(line.toString());
    }

    private static void addPercentile(final JsonObject second, final String key, final Histogram values, final double percentile) {
        if (values.getTotalCount() * (1 - percentile / 100) * SLACK >= SAMPLES_BEYOND_MIN) {
            second.addProperty(key, values.getValueAtPercentile(percentile));
        } else {
            second.add(key, JsonNull.INSTANCE);
        }
    }

    private static void addBuckets(final JsonObject second, final Histogram values) {
        final TreeMap<Integer, Long> counts = new TreeMap<>();
        for (final HistogramIterationValue value : values.recordedValues()) {
            counts.merge(bucket(value.getValueIteratedTo()), value.getCountAtValueIteratedTo(), Long::sum);
        }
        final JsonArray buckets = new JsonArray();
        counts.forEach((index, count) -> {
            final JsonArray pair = new JsonArray();
            pair.add(index);
            pair.add(count);
            buckets.add(pair);
        });
        second.add("buckets", buckets);
        second.addProperty("sum_ns", (long) (values.getMean() * values.getTotalCount()));
    }

    /**
     * The bucket of a latency: bucket i holds those above 2^((i-1)/8) s, up to 2^(i/8) s. One of
     * less than 1 ns counts as 1 ns.
     */
    static int bucket(final long ns) {
        return (int) Math.ceil(Math.log(Math.max(ns, 1) / 1e9) / Math.log(2) * BUCKETS_PER_DOUBLING);
    }
}
