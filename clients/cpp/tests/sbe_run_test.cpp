// Runs in SBE, against the scripted exchange over every backend.

#include "error.hpp"
#include "exchange.hpp"
#include "plans.hpp"
#include "run.hpp"

#include <gtest/gtest.h>

namespace tickpath::tests {
namespace {

class SbeRuns : public testing::TestWithParam<Backend> {
protected:
    Result outcome(const Script& script, Plan plan) {
        Exchange exchange(script);
        plan.target = exchange.address();
        plan.wire = Wire::sbe;
        plan.backend = GetParam().name;
        const Result result = run(plan, GetParam().uses_uring, stop);
        orders = exchange.orders();
        cancels = exchange.cancels();
        heartbeats = exchange.pongs();
        return result;
    }

    Stop stop = false;
    std::uint64_t orders = 0;
    std::uint64_t cancels = 0;
    std::uint64_t heartbeats = 0;
};

void expect_clean(const Result& result) {
    EXPECT_TRUE(result.is_complete);
    EXPECT_TRUE(result.failures.empty()) << result.failures[0];
    EXPECT_GT(result.counters.sent, 0U);
    EXPECT_EQ(result.counters.received, result.counters.sent);
    EXPECT_EQ(result.counters.lost + result.counters.unexpected + result.counters.duplicated, 0U);
}

/// The first failure; empty without one.
std::string failure(const Result& result) { return result.failures.empty() ? "" : result.failures[0]; }

} // namespace

TEST_P(SbeRuns, PingPongEndsWithAnEmptyBook) {
    const Log log;
    const Result result = outcome({}, plan(Model::ping_pong, log));
    expect_clean(result);
    EXPECT_EQ(orders, cancels);
    // Whole frames: the blocks of the schema, and 14 bytes before each.
    EXPECT_EQ(result.counters.order.mean(), 150U);
    EXPECT_EQ(result.counters.cancel.mean(), 87U);
    EXPECT_EQ(result.counters.order_reply.mean(), 130U);
}

TEST_P(SbeRuns, OpenLoopSendsItsScheduleOnEachAccountsConnection) {
    const Log log;
    Plan open = plan(Model::open, log);
    open.load.accounts = open.load.connections = 6;
    open.load.cancel_after = 3;
    const Result result = outcome({}, open);
    expect_clean(result);
    EXPECT_EQ(result.counters.sent, open.load.messages(open.seconds));
    EXPECT_EQ(orders, cancels);
}

TEST_P(SbeRuns, LaterFieldsTornRepliesAndHeartbeatsDoNoHarm) {
    const Log log;
    Script script;
    script.is_odd = true;
    expect_clean(outcome(script, plan(Model::ping_pong, log)));
    EXPECT_GT(heartbeats, 0U);
}

TEST_P(SbeRuns, AFaultEndsTheRunAndIsNamed) {
    const std::pair<Fault, const char*> expected[] = {
        {Fault::closes, "the other end closed it"},
        {Fault::sends_malformed_json, "a message of template 50 is shorter than its fields"},
    };
    for (const auto& [fault, words] : expected) {
        const Log log;
        Script script;
        script.fault = fault;
        script.after = 20;
        const Result result = outcome(script, plan(Model::ping_pong, log));
        EXPECT_FALSE(result.is_complete);
        EXPECT_NE(failure(result).find("connection 0 of 1 ended in mid-run: "), std::string::npos);
        EXPECT_NE(failure(result).find(words), std::string::npos) << failure(result);
        EXPECT_EQ(result.counters.lost, 1U);
    }
}

TEST_P(SbeRuns, RejectionsAndForeignRepliesAreCounted) {
    const Log rejected_log;
    Script script;
    script.fault = Fault::rejects;
    const Result rejected = outcome(script, plan(Model::ping_pong, rejected_log));
    EXPECT_TRUE(rejected.is_complete);
    EXPECT_EQ(rejected.counters.rejected, rejected.counters.received);
    EXPECT_EQ(failure(rejected), "first complaint: rejected: closed");

    const Log foreign_log;
    script.fault = Fault::sends_foreign_replies;
    const Result foreign = outcome(script, plan(Model::ping_pong, foreign_log));
    EXPECT_GE(foreign.counters.unexpected, 2 * foreign.counters.received);
    EXPECT_EQ(failure(foreign), "first complaint: a reply about an order that is not ours: nobody");
}

TEST_P(SbeRuns, ALogonThatIsRejectedAndAnUnknownInstrumentAreNamed) {
    const Log log;
    const auto why = [&](const Script& script, const Plan& plan) {
        try {
            outcome(script, plan);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    Script script;
    script.status = "unknown token";
    const Plan good = plan(Model::ping_pong, log);
    const std::string rejected = why(script, good);
    EXPECT_NE(rejected.find("the exchange answers the logon with: unknown token"), std::string::npos) << rejected;
    Plan other = good;
    other.load.instrument = "ETH_USDT";
    const std::string unknown = why({}, other);
    EXPECT_NE(unknown.find("no instrument ETH_USDT; it has BTC_EUR, BTC_USDT"), std::string::npos) << unknown;
}

INSTANTIATE_TEST_SUITE_P(, SbeRuns, testing::ValuesIn(backends), [](const auto& one) { return one.param.label; });

} // namespace tickpath::tests
