#include "histogram.hpp"

#include <gtest/gtest.h>

namespace tickpath::tests {

TEST(Histograms, AreEncodedAsHdrHistogramDoes) {
    Histogram histogram;
    for (const std::uint64_t value : {0, 1, 2047, 2048, 1'000'000}) {
        histogram.record(value);
    }
    histogram.record(UINT64_MAX);
    EXPECT_EQ(histogram.total(), 6U);
    EXPECT_EQ(histogram.max_ns(), Histogram::highest_ns);
    // HISTFAAA is the cookie of a compressed V2 histogram.
    EXPECT_EQ(histogram.encoded().substr(0, 8), "HISTFAAA");
    histogram.clear();
    EXPECT_EQ(histogram.total(), 0U);
    EXPECT_EQ(histogram.encoded(), Histogram().encoded());
}

TEST(Histograms, GivePercentiles) {
    Histogram histogram;
    EXPECT_EQ(histogram.at(0.5), 0U);
    for (std::uint64_t value = 1; value <= 100'000; ++value) {
        histogram.record(value);
    }
    for (const double share : {0.001, 0.5, 0.99, 0.999}) {
        EXPECT_NEAR(static_cast<double>(histogram.at(share)), share * 1e5, 100) << share;
    }
    EXPECT_EQ(histogram.at(1), 100'000U);
}

} // namespace tickpath::tests
