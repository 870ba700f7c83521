#include "plan.hpp"

#include "error.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace tickpath::tests {
namespace {

const std::string good = R"({"subject":"cpp","target":"127.0.0.1:1","wire":"websocket-json","backend":"spin",
 "core":1,"scheduling":"fifo:10","later":{"a":[1,2]},
 "load":{"model":"open","rate_per_second":10000.0,"arrival":"uniform","burst":1,"seed":18446744073709551615,
 "accounts":16,"connections":16,"cancel_after":1,"instrument":"BTC_USDT","side":"BUY","price":"1","amount":"0.5",
 "first_token":3001},"warm_up_seconds":1.0,"seconds":4.0,"hlog":"001.hlog"})";

std::string error_with(const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    try {
        Plan::parse(text);
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing";
}

} // namespace

TEST(Plans, AGoodOneIsRead) {
    const Plan plan = Plan::parse(good);
    EXPECT_EQ(plan.core, 1U);
    EXPECT_EQ(plan.load.seed, UINT64_MAX);
    EXPECT_EQ(plan.load.messages(0.00035), 4U) << "rounded up to blocks";
    EXPECT_FALSE(plan.tls);
    EXPECT_FALSE(plan.has_progress);
    std::string watched = good;
    watched.insert(1, "\"progress\":true,");
    EXPECT_TRUE(Plan::parse(watched).has_progress);
}

TEST(Plans, ASessionOfSbeHasOneAccount) {
    std::string text = good;
    text.replace(text.find("websocket-json"), 14, "sbe");
    EXPECT_EQ(Plan::parse(text).wire, Wire::sbe);
    text.replace(text.find("\"connections\":16"), 16, "\"connections\":8");
    EXPECT_THROW(Plan::parse(text), Error);
}

TEST(Plans, TheBackendDecidesHowToWaitAndWhetherOverIoUring) {
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
        {"\"subject\"", "\"name\"", "has no subject"},
        {"websocket-json", "raw", "it is one of websocket-json, sbe"},
        {"\"spin\"", "\"poll\"", "has spin, block, io_uring and io_uring_spin"},
        {"fifo:10", "fifo:100", "priorities from 1 to 99"},
        {"fifo:10", "deadline", "scheduling = deadline"},
        {"\"connections\":16", "\"connections\":17", "number of accounts"},
        {"\"cancel_after\":1", "\"cancel_after\":0", "1 to 10000"},
        {"\"open\"", "\"closed\"", "one of open, ping-pong"},
        {"\"BUY\"", "\"buy\"", "BUY or SELL"},
        {"\"0.5\"", "\"1e3\"", "amount = 1e3"},
        {"10000.0", "0.0", "needs a rate above 0"},
        {"\"seconds\":4.0", "\"seconds\":-4.0", "seconds = -4"},
        {"\"later\"", "\"inject\"", "faults"},
        {"\"later\":{\"a\":[1,2]}", "\"tls\":true", "tls = true: it must be an object"},
        {"\"later\":{\"a\":[1,2]}", "\"progress\":1", "progress = 1: it must be true or false"},
        {"16,", "16,,", "malformed JSON at byte"},
        {"4.0", "\"4\"", "seconds is \"4\", not a number"},
    };
    for (const auto& [from, to, words] : expected) {
        EXPECT_NE(error_with(from, to).find(words), std::string::npos) << to << ": " << error_with(from, to);
    }
}

} // namespace tickpath::tests
