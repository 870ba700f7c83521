#include "progress.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tickpath::tests {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

/// An interval with `orders` orders and as many cancels.
Interval interval(std::uint64_t start_ns, std::uint64_t end_ns, unsigned orders) {
    Interval one;
    one.start_ns = start_ns;
    one.end_ns = end_ns;
    for (std::size_t i = 0; i < series_count; ++i) {
        one.histograms[i] = std::make_unique<Histogram>();
        const unsigned values = static_cast<Series>(i) == Series::send_lateness ? 2 * orders : orders;
        for (unsigned n = 0; n < values; ++n) {
            one.histograms[i]->record(1'000 * (i + 1));
        }
    }
    return one;
}

} // namespace

TEST(Progress, ASecondHasItsRateAndOnlyThePercentilesThatItsSampleSupports) {
    ProgressLines open(Model::open);
    EXPECT_EQ(open.line(interval(5 * second_ns, 6 * second_ns, 999)),
              "{\"progress\":{\"seconds\":1.0,\"messages_per_second\":1998.0,\"series\":\"order.response\","
              "\"p50_ns\":1000,\"p99_ns\":null,\"buckets\":[[-159,999]],\"sum_ns\":999000}}");
    EXPECT_EQ(open.line(interval(6 * second_ns, 8 * second_ns, 1'000)),
              "{\"progress\":{\"seconds\":3.0,\"messages_per_second\":1000.0,\"series\":\"order.response\","
              "\"p50_ns\":1000,\"p99_ns\":1000,\"buckets\":[[-159,1000]],\"sum_ns\":1000000}}");
    EXPECT_FALSE(open.line(interval(8 * second_ns, 8 * second_ns + 9, 1))) << "the fragment at the end";
    EXPECT_EQ(ProgressLines(Model::ping_pong).line(interval(0, second_ns, 5)),
              "{\"progress\":{\"seconds\":1.0,\"messages_per_second\":10.0,\"series\":\"order.service\","
              "\"p50_ns\":null,\"p99_ns\":null,\"buckets\":[[-151,5]],\"sum_ns\":10000}}");
}

TEST(Progress, ABucketHoldsItsUpperBoundAndNotItsLowerOne) {
    for (const int index : {-150, -132, -8, -1, 0, 1, 24}) {
        const double ns = std::exp2(index / 8.0) * 1e9;
        EXPECT_EQ(bucket(static_cast<std::uint64_t>(std::floor(ns))), index);
        EXPECT_EQ(bucket(static_cast<std::uint64_t>(std::ceil(ns)) + 2), index + 1);
    }
    EXPECT_EQ(bucket(0), bucket(1));
}

} // namespace tickpath::tests
