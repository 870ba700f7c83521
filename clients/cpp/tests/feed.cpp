// The feed: golden datagrams, gaps, replays, snapshots, and a run against a scripted exchange.

#include "feed_run.hpp"

#include "error.hpp"
#include "feeds.hpp"
#include "vectors.hpp"

#include <cstring>

namespace tickpath::tests {
namespace {

Datagram golden(const std::string& name) {
    const std::string bytes = vector(name + ".packet");
    return {bytes.begin(), bytes.end()};
}

/// The value behind `key=` in the first line of the text beside a golden datagram.
std::string told(const std::string& name, const std::string& key) {
    const std::string text = vector(name + ".txt");
    const std::size_t at = text.find(" " + key + "=") + key.size() + 2;
    return text.substr(at, text.find_first_of(" \n", at) - at);
}

std::string request(Follower& follower, std::uint64_t now_ns) { return follower.wants(now_ns).value_or("nothing"); }

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

TEST(FeedPackets, GoldenHeadsAreRead) {
    for (const char* name : {"feed_orders", "feed_levels", "feed_heartbeat", "feed_replay", "feed_snapshot", "feed_later"}) {
        const Datagram bytes = golden(name);
        FeedPacket packet;
        ASSERT_EQ(packet.decode(bytes), FeedFault::none) << name;
        EXPECT_EQ(std::to_string(packet.session), told(name, "session"));
        EXPECT_EQ(std::to_string(packet.sequence), told(name, "sequence"));
        EXPECT_EQ(std::to_string(packet.count), told(name, "count"));
        EXPECT_EQ(std::to_string(packet.part), told(name, "part"));
        EXPECT_EQ(std::to_string(packet.parts), told(name, "parts"));
        EXPECT_EQ(feed::Channel::c_str(packet.channel), told(name, "channel"));
        EXPECT_EQ(feed::Kind::c_str(packet.kind), told(name, "kind"));
    }
}

TEST(FeedPackets, GoldenLevelsAreRead) {
    const Datagram bytes = golden("feed_levels");
    FeedPacket packet;
    ASSERT_EQ(packet.decode(bytes), FeedFault::none);
    std::ostringstream text;
    const FeedFault fault = packet.messages(0, [&](auto& message) {
        using Codec = std::remove_reference_t<decltype(message)>;
        if constexpr (std::is_same_v<Codec, feed::Level>) {
            text << "Level priceTicks=" << message.priceTicks() << " quantityLots=" << message.quantityLots()
                 << " orders=" << message.orders() << " instrument=" << message.instrument()
                 << " side=" << feed::Side::c_str(message.side()) << '\n';
        }
        return FeedFault::none;
    });
    EXPECT_EQ(fault, FeedFault::none);
    ASSERT_FALSE(text.str().empty());
    EXPECT_NE(vector("feed_levels.txt").find(text.str()), std::string::npos) << text.str();
    const auto nothing = [](auto&) { return FeedFault::none; };
    const Datagram orders = golden("feed_orders");
    ASSERT_EQ(packet.decode(orders), FeedFault::none);
    EXPECT_EQ(packet.messages(0, nothing), FeedFault::other_channel);
    EXPECT_EQ(packet.messages(5, nothing), FeedFault::none) << "only the last one, a State";
}

TEST(FeedPackets, ADatagramThatIsCutIsRejected) {
    for (const char* name : {"feed_levels", "feed_snapshot", "feed_later"}) {
        const Datagram whole = golden(name);
        for (std::size_t size = 0; size < whole.size(); ++size) {
            // In memory of exactly its size: a sanitizer sees a read past its end.
            const Datagram cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
            FeedPacket packet;
            FeedFault fault = packet.decode(cut);
            if (fault == FeedFault::none) {
                fault = packet.messages(0, [](auto&) { return FeedFault::none; });
            }
            EXPECT_NE(fault, FeedFault::none) << name << " of " << size << " bytes";
        }
    }
}

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
    EXPECT_FALSE(follower.take(levels(15, {{105, 5}}))) << "another gap behind the first";
    EXPECT_FALSE(follower.is_in_sync());
    EXPECT_EQ(request(follower, 1000), R"({"type":"FEED_REPLAY","from":10,"count":2})");
    EXPECT_EQ(request(follower, 2000), "nothing") << "it was asked for";
    EXPECT_EQ(request(follower, 1'000'000'000), R"({"type":"FEED_REPLAY","from":10,"count":2})") << "it was lost";
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
    follower.refused();
    EXPECT_EQ(request(follower, 2), R"({"type":"FEED_SNAPSHOT"})");
}

TEST(Followers, ASnapshotMustHaveItsHash) {
    std::vector<Datagram> parts = snapshot(10);
    Follower follower(session);
    // The last byte but one of a part's last message: the instrument's or the side's neighbour.
    parts.back()[parts.back().size() - 15] ^= 1;
    for (const Datagram& part : parts) {
        follower.take(part);
    }
    EXPECT_FALSE(follower.is_in_sync());
    EXPECT_EQ(follower.counters().faults, 1U);
    EXPECT_EQ(follower.counters().snapshots, 0U);
    parts = snapshot(20);
    // What came before the snapshot is in it; what came behind it is applied.
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

TEST(FeedOptions, AWrongOneIsNamed) {
    EXPECT_EQ(FeedOptions::parse({"h:1", "--order-every", "3", "--spin"}).order_every, 3U);
    for (const auto& [words, said] : {std::pair(std::vector<std::string>{"h:1", "--seconds", "x"}, "--seconds x"),
                                      {{"h:1", "--core"}, "--core lacks"},
                                      {{"h:1", "--later"}, "unknown argument --later"},
                                      {{"--spin"}, "no HOST:PORT"}}) {
        try {
            FeedOptions::parse(words);
            ADD_FAILURE() << said;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
        }
    }
}

TEST(FeedOptions, TheSubscriptionHasItsGoldenBytes) {
    std::string expected = vector("subscribe_feed.json");
    expected.replace(expected.find(R"("depth":"ORDERS")"), 16, R"("depth":"LEVELS")");
    EXPECT_EQ(feed_subscription("127.0.0.1:4000"), expected);
}

} // namespace tickpath::tests
