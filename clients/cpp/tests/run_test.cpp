// Runs and their results, against a scripted exchange over every backend.

#include "run.hpp"

#include "connection.hpp"
#include "error.hpp"
#include "exchange.hpp"
#include "json.hpp"
#include "plans.hpp"
#include "vectors.hpp"

#include <chrono>
#include <cstdio>
#include <set>
#include <sstream>
#include <thread>

namespace tickpath::tests {

namespace {

class Runs : public testing::TestWithParam<Backend> {
protected:
    /// Runs a plan that ends with a result.
    Result outcome(const Script& script, Plan plan) {
        Exchange exchange(script);
        plan.target = exchange.address();
        plan.backend = GetParam().name;
        const Result result = run(plan, GetParam().uses_uring, stop);
        orders = exchange.orders();
        cancels = exchange.cancels();
        pongs = exchange.pongs();
        return result;
    }

    Stop stop = false;
    std::uint64_t orders = 0;
    std::uint64_t cancels = 0;
    std::uint64_t pongs = 0;
};

/// The flag that the scripted exchange sets, like a signal.
Stop* stopped_at_100 = nullptr;

/// The tags of a log, without the subject.
std::set<std::string> tags(const std::string& path) {
    std::set<std::string> found;
    std::istringstream log(file(path));
    const std::string start = "Tag=cpp.";
    for (std::string line; std::getline(log, line);) {
        if (line.starts_with(start)) {
            found.insert(line.substr(start.size(), line.find(',') - start.size()));
        }
    }
    return found;
}

/// The tags that every client logs under this load.
std::set<std::string> tags_of(const char* model) { return parse_json(vector("log/tags.json")).at(model); }

double wall_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The log has the wall-clock time of its start twice, and intervals relative to it.
void expect_times(const std::string& path, double before_seconds) {
    // The log has milliseconds.
    const double rounding_seconds = 0.002;
    const double took_seconds = wall_seconds() - before_seconds + rounding_seconds;
    std::istringstream log(file(path));
    std::vector<double> starts;
    std::size_t intervals = 0;
    for (std::string line; std::getline(log, line);) {
        double start = 0;
        double length = 0;
        if (std::sscanf(line.c_str(), "#[StartTime: %lf", &start) == 1 ||
            std::sscanf(line.c_str(), "#[BaseTime: %lf", &start) == 1) {
            starts.push_back(start);
        } else if (std::sscanf(line.c_str(), "Tag=%*[^,],%lf,%lf", &start, &length) == 2) {
            ++intervals;
            EXPECT_GT(start, 0) << "the warm-up comes first";
            EXPECT_GT(length, 0);
            EXPECT_LT(start + length, took_seconds) << line;
        }
    }
    ASSERT_EQ(starts.size(), 2U);
    EXPECT_EQ(starts[0], starts[1]);
    EXPECT_NEAR(starts[0], before_seconds + took_seconds / 2, took_seconds / 2);
    EXPECT_GT(intervals, 0U);
}

bool has_failure(const Result& result, const std::string& words) {
    return !result.failures.empty() && result.failures[0].find(words) != std::string::npos;
}

void expect_clean(const Result& result) {
    EXPECT_TRUE(result.is_complete);
    EXPECT_TRUE(result.failures.empty()) << result.failures[0];
    EXPECT_GT(result.counters.sent, 0U);
    EXPECT_EQ(result.counters.received, result.counters.sent);
    EXPECT_EQ(result.counters.lost + result.counters.unexpected + result.counters.duplicated, 0U);
}

} // namespace

TEST_P(Runs, PingPongEndsWithAnEmptyBook) {
    const Log log;
    expect_clean(outcome({}, plan(Model::ping_pong, log)));
    EXPECT_EQ(orders, cancels);
    EXPECT_EQ(tags(log.path()), tags_of("ping-pong"));
}

TEST_P(Runs, OpenLoopSendsItsScheduleOverSharedConnections) {
    const Log log;
    Plan open = plan(Model::open, log);
    open.load.accounts = 12;
    open.load.connections = 6;
    open.load.cancel_after = 3;
    const double before_seconds = wall_seconds();
    const Result result = outcome({}, open);
    expect_clean(result);
    expect_times(log.path(), before_seconds);
    EXPECT_EQ(result.counters.sent, open.load.messages(open.seconds));
    EXPECT_EQ(result.counters.warm_up_sent, open.load.messages(open.warm_up_seconds));
    EXPECT_EQ(orders, cancels);
    EXPECT_EQ(tags(log.path()), tags_of("open"));
}

TEST_P(Runs, ProgressIsPrintedOnceASecondAndDoesNotChangeTheLog) {
    const Log log;
    const Exchange exchange(Script{});
    Plan open = plan(Model::open, log);
    open.target = exchange.address();
    open.backend = GetParam().name;
    open.seconds = 2;
    open.has_progress = true;
    std::vector<std::string> lines;
    const auto on = std::this_thread::get_id();
    const Result result = run(open, GetParam().uses_uring, stop, [&](const std::string& line) {
        EXPECT_EQ(std::this_thread::get_id(), on);
        lines.push_back(line);
    });
    expect_clean(result);
    // A machine that stalls makes an interval longer.
    EXPECT_FALSE(lines.empty());
    std::uint64_t counted = 0;
    for (const std::string& line : lines) {
        const Json json = parse_json(line);
        for (const Json& bucket : json.at("progress").at("buckets")) {
            counted += bucket.at(1).get<std::uint64_t>();
        }
    }
    EXPECT_LE(counted, result.counters.received / 2);
    EXPECT_GT(counted, 0U);
    EXPECT_NE(file(log.path()).find("Tag=cpp.order.response,"), std::string::npos);
}

/// The scripted exchange is a thread of this process: both figures are of the same one.
TEST_P(Runs, AResultHasTheProcessorTimeOfBothEnds) {
    const Log log;
    Plan both = plan(Model::ping_pong, log);
    both.exchange_process = static_cast<std::uint32_t>(getpid());
    const Result result = outcome({}, both);
    expect_clean(result);
    const Json processor = parse_json(result.json(both.load)).at("load").at("processor");
    EXPECT_GT(processor.at("client_ns").get<std::uint64_t>(), 0U);
    EXPECT_GT(processor.at("exchange_ns").get<std::uint64_t>(), 0U);
    const bool spins = std::string(GetParam().name).ends_with("spin");
    EXPECT_EQ(processor.at("spinning"), spins ? Json::array({"client"}) : Json::array());
    const Result alone = outcome({}, plan(Model::ping_pong, log));
    EXPECT_TRUE(parse_json(alone.json(both.load)).at("load").at("processor").at("exchange_ns").is_null());
}

TEST_P(Runs, UnknownKeysPingsAndTornRepliesDoNoHarm) {
    const Log log;
    Script script;
    script.is_odd = true;
    expect_clean(outcome(script, plan(Model::ping_pong, log)));
    EXPECT_GT(pongs, 0U);
}

TEST_P(Runs, ALostConnectionEndsTheRun) {
    for (const Fault fault : {Fault::closes, Fault::resets}) {
        const Log log;
        Script script;
        script.fault = fault;
        script.after = 20;
        const Result result = outcome(script, plan(Model::ping_pong, log));
        EXPECT_FALSE(result.is_complete);
        const char* words = fault == Fault::closes ? "the other end closed it" : "Connection reset";
        EXPECT_TRUE(has_failure(result, "connection 0 of 1 ended in mid-run: ")) << result.failures[0];
        EXPECT_TRUE(has_failure(result, words)) << result.failures[0];
        EXPECT_EQ(result.counters.lost, 1U);
    }
}

TEST_P(Runs, AMalformedReplyEndsTheRun) {
    const Log log;
    Script script;
    script.fault = Fault::sends_malformed_json;
    script.after = 20;
    const Result result = outcome(script, plan(Model::ping_pong, log));
    EXPECT_FALSE(result.is_complete);
    EXPECT_TRUE(has_failure(result, "unreadable reply: malformed JSON"));
}

TEST_P(Runs, ASilentExchangeEndsTheRun) {
    const Log log;
    Script script;
    script.fault = Fault::is_silent;
    script.after = 20;
    Plan long_plan = plan(Model::ping_pong, log);
    long_plan.seconds = 30;
    const Result result = outcome(script, long_plan);
    EXPECT_FALSE(result.is_complete);
    EXPECT_TRUE(has_failure(result, "no reply on connection 0 for 5 s")) << result.failures[0];
}

TEST_P(Runs, RejectionsAndForeignRepliesAreCounted) {
    const Log rejected_log;
    Script script;
    script.fault = Fault::rejects;
    const Result rejected = outcome(script, plan(Model::ping_pong, rejected_log));
    EXPECT_TRUE(rejected.is_complete);
    EXPECT_EQ(rejected.counters.rejected, rejected.counters.received);
    EXPECT_TRUE(has_failure(rejected, "first complaint: rejected: closed"));

    const Log foreign_log;
    script.fault = Fault::sends_foreign_replies;
    const Result foreign = outcome(script, plan(Model::ping_pong, foreign_log));
    EXPECT_GE(foreign.counters.unexpected, 2 * foreign.counters.received);
    EXPECT_TRUE(has_failure(foreign, "first complaint: a reply about an order that is not ours: nobody"));
}

TEST_P(Runs, AStoppedRunCancelsItsOrdersAndWritesItsLog) {
    for (const Model model : {Model::ping_pong, Model::open}) {
        const Log log;
        stop = false;
        stopped_at_100 = &stop;
        Script script;
        script.watch = [](std::uint64_t seen) {
            if (seen == 100) {
                *stopped_at_100 = true;
            }
        };
        Plan long_plan = plan(model, log);
        long_plan.seconds = 30;
        long_plan.warm_up_seconds = 0;
        const Result result = outcome(script, long_plan);
        EXPECT_FALSE(result.is_complete);
        EXPECT_EQ(result.counters.lost, 0U);
        EXPECT_GT(result.counters.received, 0U);
        EXPECT_EQ(orders, cancels);
        EXPECT_NE(file(log.path()).find("Tag=cpp.order.service,"), std::string::npos);
    }
}

TEST_P(Runs, AMissingOrBusyExchangeIsNamed) {
    const Log log;
    Plan nobody = plan(Model::ping_pong, log);
    nobody.target = "127.0.0.1:1";
    const auto why = [&] {
        try {
            run(nobody, GetParam().uses_uring, stop);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    EXPECT_NE(why().find("connection 0 to 127.0.0.1:1: Connection refused"), std::string::npos) << why();
    Script script;
    script.status = "503 Service Unavailable";
    const Exchange busy(script);
    nobody.target = busy.address();
    EXPECT_NE(why().find("with status 503"), std::string::npos) << why();
    stop = true;
    EXPECT_THROW(run(nobody, GetParam().uses_uring, stop), Interrupted);
}

/// Two containers of a fleet had the same process id and began together: the exchange rejected one
/// client's orders as duplicates of the other's.
TEST(Nonces, DifferBetweenRunsThatBeginTogether) {
    std::set<std::uint32_t> nonces;
    for (int run = 0; run < 100; ++run) {
        nonces.insert(nonce());
    }
    EXPECT_EQ(nonces.size(), 100U);
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
TEST(Results, AreJsonEvenIfTheyQuoteHalfACharacter) {
    Result result;
    result.failures = {"\xe2\x82"};
    EXPECT_EQ(parse_json(result.json({})).at("failures").at(0), "\xef\xbf\xbd");
}

INSTANTIATE_TEST_SUITE_P(, Runs, testing::ValuesIn(backends), [](const auto& one) { return one.param.label; });

} // namespace tickpath::tests
