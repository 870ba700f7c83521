#include "schedule.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tickpath::tests {
namespace {

std::vector<std::uint64_t> offsets(Load load, std::size_t n) {
    Schedule schedule(load);
    std::vector<std::uint64_t> found;
    while (found.size() < n) {
        found.push_back(schedule.offset_ns());
        schedule.advance();
    }
    return found;
}

} // namespace

TEST(Schedules, AreFixedByThePlan) {
    Load load;
    load.rate_per_second = 10'000;
    EXPECT_EQ(offsets(load, 4), (std::vector<std::uint64_t>{0, 100'000, 200'000, 300'000}));
    load.arrival = Arrival::burst;
    load.burst = 3;
    load.rate_per_second = 1e6;
    EXPECT_EQ(offsets(load, 7), (std::vector<std::uint64_t>{0, 0, 0, 3'000, 3'000, 3'000, 6'000}));
    load.arrival = Arrival::poisson;
    const auto many = offsets(load, 200'000);
    const double mean_ns = static_cast<double>(many.back() - many.front()) / 199'999;
    EXPECT_NEAR(mean_ns, 1000, 15) << "the standard error is 2.2";
    EXPECT_EQ(many, offsets(load, 200'000));
    // The first draws of the reference implementation for seed 0.
    SplitMix64 random(0);
    EXPECT_EQ(random.bits(), 0xE220'A839'7B1D'CDAF);
    EXPECT_EQ(random.bits(), 0x6E78'9E6A'A1B9'65F4);
}

} // namespace tickpath::tests
