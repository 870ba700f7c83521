#include "follower.hpp"

#include <algorithm>

namespace tickpath {
namespace {

/// After this many datagrams of another session in a row, the exchange has restarted.
constexpr std::uint32_t session_datagrams = 3;
/// Limit on datagrams that wait for a replay or a snapshot: over a second of a busy feed.
constexpr std::size_t held_bytes_max = 16 << 20;
/// Each instrument takes 0.8 MB of address space.
constexpr std::uint16_t instruments_max = 1024;
constexpr std::size_t held_max = held_bytes_max / 128;

} // namespace

Follower::Follower(std::uint64_t session) : session_(session) {
    held_bytes_.reserve(held_bytes_max);
    held_.reserve(held_max);
}

bool Follower::take(std::span<const std::uint8_t> datagram) {
    ++counters_.datagrams;
    FeedPacket packet;
    if (packet.decode(datagram) != FeedFault::none || packet.channel != feed::Channel::LEVELS) {
        ++counters_.faults;
        return false;
    }
    if (!is_of_session(packet)) {
        return false;
    }
    if (packet.kind == feed::Kind::SNAPSHOT) {
        part(packet, datagram);
        return false;
    }
    const bool was_in_sync = is_in_sync();
    end_ = std::max(end_, packet.end());
    counters_.gaps += was_in_sync && packet.sequence > next_ ? 1 : 0;
    if (packet.count == 0) {
        ++counters_.heartbeats;
        return false;
    }
    if (is_rebuilding_ || packet.sequence > next_) {
        hold(packet, datagram);
        return false;
    }
    if (packet.end() <= next_) {
        return false;
    }
    if (apply(packet) != FeedFault::none) {
        ++counters_.faults;
        restart();
        return false;
    }
    take_held();
    const bool is_tick = packet.kind == feed::Kind::LIVE && is_in_sync();
    counters_.ticks += is_tick ? 1 : 0;
    return is_tick;
}

bool Follower::is_of_session(const FeedPacket& packet) {
    if (packet.session == session_) {
        other_session_datagrams_ = 0;
        return true;
    }
    other_session_datagrams_ = packet.session == other_session_ ? other_session_datagrams_ + 1 : 1;
    other_session_ = packet.session;
    if (other_session_datagrams_ < session_datagrams) {
        return false;
    }
    session_ = packet.session;
    other_session_datagrams_ = 0;
    next_ = end_ = 1;
    restart();
    return true;
}

/// Takes a part of a snapshot. Parts arrive in any order.
void Follower::part(const FeedPacket& packet, std::span<const std::uint8_t> datagram) {
    if (!is_rebuilding_ || packet.sequence < snapshot_sequence_) {
        return;
    }
    if (packet.sequence != snapshot_sequence_ || packet.parts != parts_.size()) {
        snapshot_sequence_ = packet.sequence;
        parts_.resize(packet.parts);
        std::for_each(parts_.begin(), parts_.end(), [](auto& one) { one.clear(); });
        parts_received_ = 0;
    }
    if (parts_[packet.part].empty()) {
        parts_[packet.part].assign(datagram.begin(), datagram.end());
        ++parts_received_;
    }
    if (parts_received_ < parts_.size()) {
        return;
    }
    if (load() != FeedFault::none) {
        ++counters_.faults;
        restart();
        return;
    }
    ++counters_.snapshots;
    is_rebuilding_ = false;
    next_ = snapshot_sequence_;
    end_ = std::max(end_, next_);
    take_held();
}

/// Builds the books of a complete snapshot, and compares each with its hash.
FeedFault Follower::load() {
    std::for_each(books_.begin(), books_.end(), [](Book& book) { book.clear(); });
    std::vector<std::pair<std::uint16_t, std::uint64_t>> hashes;
    for (const std::vector<std::uint8_t>& bytes : parts_) {
        FeedPacket packet;
        FeedFault fault = packet.decode(bytes);
        if (fault == FeedFault::none) {
            fault = packet.messages(0, [&](auto& message) {
                if constexpr (std::is_same_v<decltype(message), feed::Definition&>) {
                    hashes.emplace_back(message.instrument(), message.bookHash());
                }
                return change(message);
            });
        }
        if (fault != FeedFault::none) {
            return fault;
        }
    }
    const bool is_right = std::all_of(hashes.begin(), hashes.end(), [&](const auto& expected) {
        return books_[expected.first].hash() == expected.second;
    });
    return is_right ? FeedFault::none : FeedFault::contradiction;
}

FeedFault Follower::apply(const FeedPacket& packet) {
    const std::uint64_t skipped = next_ - packet.sequence;
    const FeedFault fault = packet.messages(skipped, [&](auto& message) { return change(message); });
    counters_.messages += packet.count - skipped;
    next_ = packet.end();
    return fault;
}

FeedFault Follower::change(const feed::Level& level) {
    if (level.instrument() >= books_.size() || level.sideRaw() > feed::Side::SELL) {
        return FeedFault::contradiction;
    }
    books_[level.instrument()].set(level.side(), {level.priceTicks(), level.quantityLots(), level.orders()});
    return FeedFault::none;
}

FeedFault Follower::change(const feed::State& state) {
    if (state.instrument() >= books_.size() || state.stateRaw() > feed::InstrumentState::CLOSED) {
        return FeedFault::contradiction;
    }
    books_[state.instrument()].state = state.state();
    return FeedFault::none;
}

FeedFault Follower::change(const feed::Definition& definition) {
    if (definition.instrument() >= instruments_max) {
        return FeedFault::contradiction;
    }
    if (definition.instrument() >= books_.size()) {
        books_.resize(std::size_t{definition.instrument()} + 1);
    }
    books_[definition.instrument()].code = definition.getCodeAsString();
    return FeedFault::none;
}

void Follower::hold(const FeedPacket& packet, std::span<const std::uint8_t> datagram) {
    if (held_.size() == held_max || held_bytes_.size() + datagram.size() > held_bytes_max) {
        return restart();
    }
    held_.push_back({packet.sequence, held_bytes_.size(), datagram.size()});
    held_bytes_.insert(held_bytes_.end(), datagram.begin(), datagram.end());
    held_from_ = std::min(held_from_, packet.sequence);
}

/// Applies the held datagrams that are in sequence now. The others wait for another replay.
void Follower::take_held() {
    bool has_progress = true;
    while (has_progress && held_from_ <= next_) {
        has_progress = false;
        held_from_ = UINT64_MAX;
        for (const HeldDatagram& held : held_) {
            FeedPacket packet;
            packet.decode({held_bytes_.data() + held.at, held.size});
            if (packet.end() <= next_) {
                continue;
            }
            if (packet.sequence > next_) {
                held_from_ = std::min(held_from_, packet.sequence);
                continue;
            }
            if (apply(packet) != FeedFault::none) {
                ++counters_.faults;
                return restart();
            }
            has_progress = true;
        }
    }
    if (held_from_ == UINT64_MAX) {
        drop_held();
    }
}

void Follower::drop_held() {
    held_.clear();
    held_bytes_.clear();
    held_from_ = UINT64_MAX;
}

void Follower::restart() {
    drop_held();
    is_rebuilding_ = true;
    parts_.clear();
    parts_received_ = 0;
    snapshot_sequence_ = 0;
    asked_ = Want::nothing;
}

std::optional<std::string> Follower::next_request(std::uint64_t now_ns) {
    if (is_in_sync()) {
        asked_ = Want::nothing;
        return std::nullopt;
    }
    const Want want = is_rebuilding_ ? Want::snapshot : Want::replay;
    const std::uint64_t progress = is_rebuilding_ ? parts_received_ : next_;
    if (asked_ == want && (is_rebuilding_ || next_ < asked_until_)) {
        if (progress != asked_progress_) {
            asked_progress_ = progress;
            asked_ns_ = now_ns;
        }
        if (now_ns < asked_ns_ + retry_ns) {
            return std::nullopt;
        }
    }
    asked_ = want;
    asked_ns_ = now_ns;
    asked_progress_ = progress;
    if (is_rebuilding_) {
        ++counters_.snapshots_asked;
        return R"({"type":"FEED_SNAPSHOT"})";
    }
    ++counters_.replays_asked;
    asked_until_ = std::min(held_from_, end_);
    return R"({"type":"FEED_REPLAY","from":)" + std::to_string(next_) + R"(,"count":)" +
           std::to_string(asked_until_ - next_) + "}";
}

std::uint64_t Follower::book_hash() const {
    BookHash hash;
    std::for_each(books_.begin(), books_.end(), [&](const Book& book) { hash.word(book.hash()); });
    return hash.value();
}

} // namespace tickpath
