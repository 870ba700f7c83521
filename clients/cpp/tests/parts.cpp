// Parts of a run by themselves: plans, schedules, histograms, results.

#include "error.hpp"
#include "histogram.hpp"
#include "json.hpp"
#include "plan.hpp"
#include "progress.hpp"
#include "run.hpp"
#include "schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace tickpath::tests {
namespace {

const std::string good = R"({"subject":"cpp","target":"127.0.0.1:1","wire":"websocket-json","backend":"spin",
 "core":1,"scheduling":"fifo:10","later":{"a":[1,2]},
 "load":{"model":"open","rate_per_second":10000.0,"arrival":"uniform","burst":1,"seed":18446744073709551615,
 "accounts":16,"connections":16,"cancel_after":1,"instrument":"BTC_USDT","side":"BUY","price":"1","amount":"0.5",
 "first_token":3001},"warm_up_seconds":1.0,"seconds":4.0,"hlog":"001.hlog"})";

std::string why_not(const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    try {
        Plan::parse(text);
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing";
}

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

/// Two containers of a fleet had one process id and began together: one's orders were refused as
/// the other's duplicates.
TEST(Runs, ThoseThatBeginTogetherHaveClientIdsOfTheirOwn) {
    std::set<std::uint32_t> nonces;
    for (int run = 0; run < 100; ++run) {
        nonces.insert(nonce());
    }
    EXPECT_EQ(nonces.size(), 100U);
}

TEST(Plans, AGoodOneIsRead) {
    const Plan plan = Plan::parse(good);
    EXPECT_EQ(plan.core, 1U);
    EXPECT_EQ(plan.load.seed, UINT64_MAX);
    EXPECT_EQ(plan.load.messages(0.00035), 4U) << "whole blocks";
    EXPECT_FALSE(plan.tls);
    EXPECT_FALSE(plan.has_progress);
    std::string watched = good;
    watched.insert(1, "\"progress\":true,");
    EXPECT_TRUE(Plan::parse(watched).has_progress);
}

TEST(Plans, TheBackendSaysHowToWaitAndWhetherOverIoUring) {
    const std::tuple<const char*, bool, bool> expected[] = {
        {"spin", true, false},
        {"block", false, false},
        {"io_uring_spin", true, true},
        {"io_uring", false, true},
    };
    for (const auto& [name, spins, uses_uring] : expected) {
        std::string text = good;
        text.replace(text.find("\"spin\""), 6, std::string("\"") + name + "\"");
        const Plan plan = Plan::parse(text);
        EXPECT_EQ(plan.spins(), spins) << name;
        EXPECT_EQ(plan.uses_uring(), uses_uring) << name;
    }
}

TEST(Plans, ABadKeyIsNamed) {
    const std::tuple<const char*, const char*, const char*> expected[] = {
        {"\"subject\"", "\"who\"", "has no subject"},
        {"websocket-json", "raw", "websocket-json only"},
        {"\"spin\"", "\"poll\"", "has spin, block, io_uring and io_uring_spin"},
        {"fifo:10", "fifo:100", "priorities from 1 to 99"},
        {"fifo:10", "deadline", "scheduling = deadline"},
        {"\"connections\":16", "\"connections\":17", "fewer accounts"},
        {"\"cancel_after\":1", "\"cancel_after\":0", "1 to 10000"},
        {"\"open\"", "\"closed\"", "one of open, ping-pong"},
        {"\"BUY\"", "\"buy\"", "BUY or SELL"},
        {"\"0.5\"", "\"1e3\"", "amount = 1e3"},
        {"10000.0", "0.0", "an open loop sends something"},
        {"\"seconds\":4.0", "\"seconds\":-4.0", "seconds = -4"},
        {"\"later\"", "\"inject\"", "faults"},
        {"16,", "16,,", "malformed JSON at byte"},
        {"4.0", "\"4\"", "seconds is \"4\", not a number"},
    };
    for (const auto& [from, to, words] : expected) {
        EXPECT_NE(why_not(from, to).find(words), std::string::npos) << to << ": " << why_not(from, to);
    }
}

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
    EXPECT_FALSE(open.line(interval(8 * second_ns, 8 * second_ns + 9, 1))) << "a fragment at the end";
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

TEST(Results, AreOneLineOfJson) {
    Result result;
    result.failures = {"a \"quoted\"\nreason"};
    result.counters.order.add(212);
    result.counters.order.add(213);
    Load load;
    load.model = Model::ping_pong;
    const std::string line = result.json(load);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const Json json = parse_json(line);
    EXPECT_EQ(json.at("failures").at(0), "a \"quoted\"\nreason");
    EXPECT_TRUE(json.at("load").at("rate_per_second_offered").is_null());
    EXPECT_EQ(json.at("load").at("message_bytes").at("order"), 213);
    EXPECT_EQ(json.at("complete"), false);
}

/// A complaint quotes the first 300 bytes of a message, which may end inside a character.
TEST(Results, AreJsonWhateverTheyQuote) {
    Result result;
    result.failures = {"\xe2\x82"};
    EXPECT_EQ(parse_json(result.json({})).at("failures").at(0), "\xef\xbf\xbd");
}

} // namespace tickpath::tests
