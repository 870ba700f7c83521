// Golden datagrams of the feed.

#include "feed_packet.hpp"

#include "feeds.hpp"
#include "vectors.hpp"

#include <sstream>
#include <type_traits>

namespace tickpath::tests {
namespace {

Datagram golden(const std::string& name) {
    const std::string bytes = vector(name + ".packet");
    return {bytes.begin(), bytes.end()};
}

/// The value of `key=` in the first line of the text of a golden datagram.
std::string text_value(const std::string& name, const std::string& key) {
    const std::string text = vector(name + ".txt");
    const std::size_t at = text.find(" " + key + "=") + key.size() + 2;
    return text.substr(at, text.find_first_of(" \n", at) - at);
}

} // namespace

TEST(FeedPackets, GoldenHeadsAreRead) {
    for (const char* name :
         {"feed_orders", "feed_levels", "feed_heartbeat", "feed_replay", "feed_snapshot", "feed_later"}) {
        const Datagram bytes = golden(name);
        FeedPacket packet;
        ASSERT_EQ(packet.decode(bytes), FeedFault::none) << name;
        EXPECT_EQ(std::to_string(packet.session), text_value(name, "session"));
        EXPECT_EQ(std::to_string(packet.sequence), text_value(name, "sequence"));
        EXPECT_EQ(std::to_string(packet.count), text_value(name, "count"));
        EXPECT_EQ(std::to_string(packet.part), text_value(name, "part"));
        EXPECT_EQ(std::to_string(packet.parts), text_value(name, "parts"));
        EXPECT_EQ(feed::Channel::c_str(packet.channel), text_value(name, "channel"));
        EXPECT_EQ(feed::Kind::c_str(packet.kind), text_value(name, "kind"));
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

} // namespace tickpath::tests
