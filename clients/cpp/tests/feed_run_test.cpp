// Runs of `feed` against a scripted exchange.

#include "feed_run.hpp"

#include "error.hpp"
#include "exchange.hpp"

#include <gtest/gtest.h>

namespace tickpath::tests {

TEST(FeedRuns, TicksAreAnsweredAndLostMessagesReplayed) {
    for (const bool spins : {false, true}) {
        Script script;
        script.loses_every = 7;
        const Exchange exchange(script);
        FeedOptions options;
        options.target = exchange.address();
        options.warm_up_seconds = 0;
        options.seconds = 0.3;
        options.order_every = 1;
        options.spins = spins;
        Stop stop = false;
        const FeedResult result = follow_feed(options, stop);
        ASSERT_TRUE(result.is_complete) << result.json();
        EXPECT_GT(result.orders, 0U);
        EXPECT_EQ(result.answered, result.orders);
        EXPECT_EQ(result.orders, exchange.orders());
        EXPECT_EQ(result.tick_to_trade.total(), result.orders);
        EXPECT_EQ(result.order_service.total(), result.orders);
        EXPECT_GT(result.feed.gaps, 0U);
        EXPECT_EQ(result.feed.replays_asked, result.feed.gaps);
        EXPECT_EQ(result.feed.faults, 0U);
    }
}

TEST(FeedRuns, AFeedThatEndsAndAMissingExchangeAreNamed) {
    Script script;
    script.fault = Fault::is_silent;
    const Exchange exchange(script);
    FeedOptions options;
    options.target = exchange.address();
    options.seconds = 30;
    Stop stop = false;
    const FeedResult result = follow_feed(options, stop);
    EXPECT_FALSE(result.is_complete);
    EXPECT_NE(result.json().find("no datagram of the feed for 2 s"), std::string::npos) << result.json();
    options.target = "127.0.0.1:1";
    EXPECT_THROW(follow_feed(options, stop), Error);
}

} // namespace tickpath::tests
