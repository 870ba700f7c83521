// Gaps, replays and snapshots of the feed.

#include "follower.hpp"

#include "feeds.hpp"

#include <gtest/gtest.h>

namespace tickpath::tests {
namespace {

std::string request(Follower& follower, std::uint64_t now_ns) {
    return follower.next_request(now_ns).value_or("nothing");
}

/// A follower in sync, with `snapshot()` as its book.
Follower followed() {
    Follower follower(session);
    EXPECT_EQ(request(follower, 1), R"({"type":"FEED_SNAPSHOT"})");
    for (const Datagram& part : snapshot(10)) {
        EXPECT_FALSE(follower.take(part));
    }
    EXPECT_TRUE(follower.is_in_sync());
    return follower;
}

std::int64_t best_bid(const Follower& follower) { return follower.books()[0].best(feed::Side::BUY)->price_ticks; }

} // namespace

TEST(Followers, TakeTicksInSequence) {
    Follower follower = followed();
    EXPECT_EQ(follower.sequence(), 9U);
    EXPECT_EQ(best_bid(follower), 100);
    EXPECT_TRUE(follower.take(levels(10, {{101, 5}, {102, 5}})));
    EXPECT_EQ(best_bid(follower), 102);
    EXPECT_TRUE(follower.take(levels(12, {{102, 0}})));
    EXPECT_EQ(best_bid(follower), 101);
    EXPECT_FALSE(follower.take(levels(12, {{103, 5}}))) << "known";
    EXPECT_TRUE(follower.take(levels(12, {{103, 5}, {101, 0}}))) << "the first message is known";
    EXPECT_EQ(best_bid(follower), 100);
    EXPECT_EQ(request(follower, 2), "nothing");
    EXPECT_EQ(follower.counters().gaps, 0U);
    EXPECT_EQ(follower.books()[0].code, "BTC_USDT");
}

TEST(Followers, AGapIsReplayed) {
    Follower follower = followed();
    EXPECT_FALSE(follower.take(levels(12, {{104, 5}})));
    EXPECT_FALSE(follower.take(levels(15, {{105, 5}}))) << "another gap after the first";
    EXPECT_FALSE(follower.is_in_sync());
    EXPECT_EQ(request(follower, 1000), R"({"type":"FEED_REPLAY","from":10,"count":2})");
    EXPECT_EQ(request(follower, 2000), "nothing") << "the request is outstanding";
    EXPECT_EQ(request(follower, 1'000'000'000), R"({"type":"FEED_REPLAY","from":10,"count":2})")
        << "the request was lost";
    EXPECT_FALSE(follower.take(levels(10, {{101, 5}, {102, 5}}, feed::Kind::REPLAY)));
    EXPECT_EQ(best_bid(follower), 104);
    EXPECT_EQ(request(follower, 1'000'000'001), R"({"type":"FEED_REPLAY","from":13,"count":2})");
    EXPECT_FALSE(follower.take(levels(13, {{104, 0}, {102, 0}}, feed::Kind::REPLAY)));
    EXPECT_TRUE(follower.is_in_sync());
    EXPECT_EQ(best_bid(follower), 105);
    EXPECT_EQ(follower.counters().gaps, 1U);
    EXPECT_TRUE(follower.take(levels(16, {{106, 1}})));
}

TEST(Followers, AHeartbeatRevealsAGap) {
    Follower follower = followed();
    EXPECT_FALSE(follower.take(levels(11, {})));
    EXPECT_EQ(request(follower, 1), R"({"type":"FEED_REPLAY","from":10,"count":1})");
    follower.restart();
    EXPECT_EQ(request(follower, 2), R"({"type":"FEED_SNAPSHOT"})");
}

TEST(Followers, ASnapshotMustHaveItsHash) {
    std::vector<Datagram> parts = snapshot(10);
    Follower follower(session);
    // Flips a bit of the last level, so that the book contradicts the hash.
    parts.back()[parts.back().size() - 15] ^= 1;
    for (const Datagram& part : parts) {
        follower.take(part);
    }
    EXPECT_FALSE(follower.is_in_sync());
    EXPECT_EQ(follower.counters().faults, 1U);
    EXPECT_EQ(follower.counters().snapshots, 0U);
    parts = snapshot(20);
    // The snapshot includes earlier messages; later ones are applied to it.
    follower.take(levels(19, {{500, 1}}));
    follower.take(levels(20, {{101, 1}}));
    follower.take(parts[1]);
    follower.take(parts[0]);
    EXPECT_TRUE(follower.is_in_sync());
    EXPECT_EQ(best_bid(follower), 101);
    EXPECT_EQ(follower.sequence(), 20U);
}

TEST(Followers, AnotherSessionBeginsAnew) {
    Follower follower = followed();
    Datagram other = levels(1, {{900, 1}});
    other[8] ^= 1;
    EXPECT_FALSE(follower.take(other));
    EXPECT_FALSE(follower.take(other));
    EXPECT_TRUE(follower.is_in_sync()) << "one datagram may be a stray";
    EXPECT_FALSE(follower.take(other));
    EXPECT_EQ(request(follower, 1), R"({"type":"FEED_SNAPSHOT"})");
}

} // namespace tickpath::tests
