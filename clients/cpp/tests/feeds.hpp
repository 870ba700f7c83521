#pragma once

#include "book.hpp"

#include <cstdint>
#include <vector>

namespace tickpath::tests {

// Datagrams of a small feed, written by the generated codecs.

using Datagram = std::vector<std::uint8_t>;

constexpr std::uint64_t session = 77;

template <typename Codec>
Codec writer(Datagram& out) {
    const std::size_t at = out.size();
    out.resize(at + Codec::sbeBlockAndHeaderLength());
    Codec codec;
    codec.wrapAndApplyHeader(reinterpret_cast<char*>(out.data()), at, out.size());
    return codec;
}

inline Datagram head(std::uint64_t sequence, std::size_t count, feed::Kind::Value kind, std::uint16_t part = 0,
                     std::uint16_t parts = 1) {
    Datagram out;
    writer<feed::Packet>(out)
        .session(session)
        .sequence(sequence)
        .intendedNs(0)
        .acknowledgedNs(0)
        .publishedNs(0)
        .count(static_cast<std::uint16_t>(count))
        .part(part)
        .parts(parts)
        .channel(feed::Channel::LEVELS)
        .kind(kind);
    return out;
}

struct Bid {
    std::int64_t price_ticks;
    std::uint64_t lots;
};

inline void put(Datagram& out, const Bid& bid) {
    writer<feed::Level>(out)
        .priceTicks(bid.price_ticks)
        .quantityLots(bid.lots)
        .orders(bid.lots == 0 ? 0 : 1)
        .instrument(0)
        .side(feed::Side::BUY);
}

/// Changes of the first instrument's bids; without any it is a heartbeat.
inline Datagram levels(std::uint64_t sequence, const std::vector<Bid>& bids,
                       feed::Kind::Value kind = feed::Kind::LIVE) {
    Datagram out = head(sequence, bids.size(), kind);
    for (const Bid& bid : bids) {
        put(out, bid);
    }
    return out;
}

/// A snapshot in two parts: one instrument with bids at 100 and 99.
inline std::vector<Datagram> snapshot(std::uint64_t sequence) {
    Book book;
    const std::vector<Bid> bids = {{100, 1}, {99, 2}};
    for (const Bid& bid : bids) {
        book.set(feed::Side::BUY, {bid.price_ticks, bid.lots, 1});
    }
    Datagram first = head(sequence, 3, feed::Kind::SNAPSHOT, 0, 2);
    auto definition = writer<feed::Definition>(first);
    definition.bookHash(book.hash()).entries(2).instrument(0);
    definition.putCode(std::string_view("BTC_USDT"));
    definition.tick().mantissa(1).exponent(-2);
    definition.lot().mantissa(1).exponent(0);
    writer<feed::State>(first).instrument(0).state(feed::InstrumentState::OPEN);
    put(first, bids[0]);
    Datagram second = head(sequence, 1, feed::Kind::SNAPSHOT, 1, 2);
    put(second, bids[1]);
    return {first, second};
}

} // namespace tickpath::tests
