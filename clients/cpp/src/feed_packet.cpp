#include "feed_packet.hpp"

#include <tickpath_feed/OrderAdded.h>
#include <tickpath_feed/OrderDeleted.h>
#include <tickpath_feed/OrderReduced.h>

namespace tickpath {
namespace {

/// Limit on sequence numbers, so that sums with a count can't overflow.
constexpr std::uint64_t sequence_max = std::uint64_t{1} << 62;

} // namespace

FeedFault FeedPacket::header_at(std::size_t at, feed::MessageHeader& header) const {
    const std::size_t header_bytes = feed::MessageHeader::encodedLength();
    if (size_ - at < header_bytes) {
        return FeedFault::truncated;
    }
    header.wrap(bytes_, at, feed::Packet::sbeSchemaVersion(), size_);
    if (header.schemaId() != feed::Packet::sbeSchemaId()) {
        return FeedFault::not_the_feed;
    }
    return size_ - at - header_bytes < header.blockLength() ? FeedFault::truncated : FeedFault::none;
}

FeedFault FeedPacket::decode(std::span<const std::uint8_t> bytes) {
    bytes_ = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
    size_ = bytes.size();
    feed::MessageHeader header;
    if (const FeedFault fault = header_at(0, header); fault != FeedFault::none) {
        return fault;
    }
    if (header.templateId() != feed::Packet::SBE_TEMPLATE_ID) {
        return FeedFault::not_the_feed;
    }
    if (header.version() > feed::Packet::sbeSchemaVersion()) {
        return FeedFault::later_version;
    }
    if (header.blockLength() < feed::Packet::sbeBlockLength()) {
        return FeedFault::truncated;
    }
    const std::size_t block_at = feed::MessageHeader::encodedLength();
    messages_at_ = block_at + header.blockLength();
    feed::Packet head;
    head.wrapForDecode(bytes_, block_at, header.blockLength(), header.version(), size_);
    session = head.session();
    sequence = head.sequence();
    count = head.count();
    part = head.part();
    parts = head.parts();
    // The codecs' accessors of enumerations throw on an unknown value.
    if (head.channelRaw() > feed::Channel::LEVELS || head.kindRaw() > feed::Kind::SNAPSHOT || part >= parts ||
        sequence > sequence_max) {
        return FeedFault::bad_value;
    }
    channel = head.channel();
    kind = head.kind();
    return FeedFault::none;
}

bool FeedPacket::is_of_orders(std::uint16_t template_id) {
    return template_id == feed::OrderAdded::SBE_TEMPLATE_ID || template_id == feed::OrderReduced::SBE_TEMPLATE_ID ||
           template_id == feed::OrderDeleted::SBE_TEMPLATE_ID;
}

} // namespace tickpath
