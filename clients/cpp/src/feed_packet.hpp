#pragma once

// Generated from clients/feed/tickpath-feed.xml.
#include <tickpath_feed/Definition.h>
#include <tickpath_feed/Level.h>
#include <tickpath_feed/Packet.h>
#include <tickpath_feed/State.h>
#include <tickpath_feed/Trade.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tickpath {

/// Reasons to reject a datagram or a message in it.
enum class FeedFault : std::uint8_t {
    none,
    truncated,
    not_the_feed,
    later_version,
    bad_value,
    other_channel,
    contradiction,
};

/// One datagram of the market data feed: its head, and its messages by the generated codecs.
///
/// It checks each length before it calls a codec, so that no codec throws. See
/// clients/feed/README.md.
class FeedPacket {
public:
    /// Reads the head. `bytes` must outlive the packet.
    FeedFault decode(std::span<const std::uint8_t> bytes);

    std::uint64_t session = 0;
    /// The number of its first message; in a snapshot, the first number that it does not contain.
    std::uint64_t sequence = 0;
    std::uint16_t count = 0;
    std::uint16_t part = 0;
    std::uint16_t parts = 0;
    feed::Channel::Value channel = feed::Channel::NULL_VALUE;
    feed::Kind::Value kind = feed::Kind::NULL_VALUE;

    std::uint64_t end() const { return sequence + count; }

    /// Calls `visit` with the codec of each message of the channel LEVELS after the first
    /// `skipped`. Returns the first fault of a message or of `visit`. Skips unknown templates.
    template <typename Visit>
    FeedFault messages(std::uint64_t skipped, Visit&& visit) const {
        std::size_t at = messages_at_;
        for (std::uint64_t i = 0; i < count; ++i) {
            feed::MessageHeader header;
            if (const FeedFault fault = header_at(at, header); fault != FeedFault::none) {
                return fault;
            }
            const std::size_t block_at = at + feed::MessageHeader::encodedLength();
            at = block_at + header.blockLength();
            if (i < skipped) {
                continue;
            }
            if (const FeedFault fault = message(header, block_at, visit); fault != FeedFault::none) {
                return fault;
            }
        }
        return FeedFault::none;
    }

private:
    /// Reads a message's header. Its block must be complete.
    FeedFault header_at(std::size_t at, feed::MessageHeader& header) const;

    template <typename Visit>
    FeedFault message(const feed::MessageHeader& header, std::size_t block_at, Visit& visit) const {
        switch (header.templateId()) {
        case feed::Level::SBE_TEMPLATE_ID:
            return block<feed::Level>(header, block_at, visit);
        case feed::State::SBE_TEMPLATE_ID:
            return block<feed::State>(header, block_at, visit);
        case feed::Trade::SBE_TEMPLATE_ID:
            return block<feed::Trade>(header, block_at, visit);
        case feed::Definition::SBE_TEMPLATE_ID:
            return block<feed::Definition>(header, block_at, visit);
        default:
            return is_of_orders(header.templateId()) ? FeedFault::other_channel : FeedFault::none;
        }
    }

    template <typename Codec, typename Visit>
    FeedFault block(const feed::MessageHeader& header, std::size_t block_at, Visit& visit) const {
        if (header.blockLength() < Codec::sbeBlockLength()) {
            return FeedFault::truncated;
        }
        Codec codec;
        codec.wrapForDecode(bytes_, block_at, header.blockLength(), header.version(), size_);
        return visit(codec);
    }

    static bool is_of_orders(std::uint16_t template_id);

    /// Not const because the codecs can also write; nothing here does.
    char* bytes_ = nullptr;
    std::size_t size_ = 0;
    std::size_t messages_at_ = 0;
};

} // namespace tickpath
