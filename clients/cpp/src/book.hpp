#pragma once

#include "feed_packet.hpp"
#include "schedule.hpp"

#include <string>
#include <vector>

namespace tickpath {

/// The feed's view of one price.
struct PriceLevel {
    std::int64_t price_ticks = 0;
    std::uint64_t quantity_lots = 0;
    std::uint32_t orders = 0;
};

/// The hash that followers compare with the exchange's: clients/feed/README.md.
class BookHash {
public:
    void word(std::uint64_t word) { value_ = SplitMix64(value_ ^ word).bits(); }
    std::uint64_t value() const { return value_; }

private:
    /// "tickpath"
    std::uint64_t value_ = 0x7469636b70617468;
};

/// One instrument's book, price by price.
class Book {
public:
    /// Prices per side without an allocation: the exchange's default limit.
    static constexpr std::size_t levels_reserved = 16'384;

    Book();

    /// Replaces the level at its price. A level without lots and orders removes it.
    void set(feed::Side::Value side, const PriceLevel& level);

    /// Best price of a side; nullptr if it is empty.
    const PriceLevel* best(feed::Side::Value side) const {
        const std::vector<PriceLevel>& levels = sides_[side];
        return levels.empty() ? nullptr : &levels.back();
    }

    std::size_t levels() const { return sides_[0].size() + sides_[1].size(); }
    std::uint64_t hash() const;
    void clear();

    feed::InstrumentState::Value state = feed::InstrumentState::OPEN;
    /// The instrument's code; empty until a snapshot has arrived.
    std::string code;

private:
    /// Worst price first, because most changes are at the best prices: there a vector moves little.
    std::vector<PriceLevel> sides_[2];
};

} // namespace tickpath
