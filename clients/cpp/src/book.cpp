#include "book.hpp"

#include <algorithm>

namespace tickpath {

Book::Book() {
    for (std::vector<PriceLevel>& side : sides_) {
        side.reserve(levels_reserved);
    }
}

void Book::set(feed::Side::Value side, const PriceLevel& level) {
    std::vector<PriceLevel>& levels = sides_[side];
    const auto is_worse = [side](const PriceLevel& one, const PriceLevel& other) {
        return side == feed::Side::BUY ? one.price_ticks < other.price_ticks : one.price_ticks > other.price_ticks;
    };
    const auto at = std::lower_bound(levels.begin(), levels.end(), level, is_worse);
    const bool is_known = at != levels.end() && at->price_ticks == level.price_ticks;
    if (level.quantity_lots == 0 && level.orders == 0) {
        if (is_known) {
            levels.erase(at);
        }
    } else if (is_known) {
        *at = level;
    } else {
        levels.insert(at, level);
    }
}

std::uint64_t Book::hash() const {
    BookHash hash;
    hash.word(state);
    for (const std::vector<PriceLevel>& levels : sides_) {
        std::for_each(levels.rbegin(), levels.rend(), [&](const PriceLevel& level) {
            hash.word(static_cast<std::uint64_t>(level.price_ticks));
            hash.word(level.quantity_lots);
            hash.word(level.orders);
        });
        hash.word(levels.size());
    }
    return hash.value();
}

void Book::clear() {
    sides_[0].clear();
    sides_[1].clear();
    state = feed::InstrumentState::OPEN;
}

} // namespace tickpath
