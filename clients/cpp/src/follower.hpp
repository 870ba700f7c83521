#pragma once

#include "book.hpp"

#include <optional>

namespace tickpath {

/// What a follower has met.
struct FeedCounters {
    std::uint64_t datagrams = 0;
    std::uint64_t heartbeats = 0;
    /// Messages that changed the books or were trades, without those of snapshots.
    std::uint64_t messages = 0;
    /// Live datagrams that were taken in as they came.
    std::uint64_t ticks = 0;
    /// Times that a number showed missing messages while nothing was missing yet.
    std::uint64_t gaps = 0;
    std::uint64_t replays_asked = 0;
    std::uint64_t snapshots_asked = 0;
    std::uint64_t snapshots = 0;
    /// Datagrams that could not be read, or contradict the books.
    std::uint64_t faults = 0;
};

/// Follows the channel LEVELS: checks sequence numbers, keeps the books, and says what to ask for
/// when messages are missing. Reads no clock and does no I/O. Allocates nothing while it is in sync.
class Follower {
public:
    /// Without books yet: the first request is a snapshot.
    explicit Follower(std::uint64_t session);

    /// Takes a datagram. True for a tick: live messages in sequence, and no message is missing.
    bool take(std::span<const std::uint8_t> datagram);

    /// The message for the exchange if something is missing. Says it again when `retry_ns` have
    /// brought no progress.
    std::optional<std::string> wants(std::uint64_t now_ns);

    /// The exchange refused a replay or a snapshot: only a new snapshot helps.
    void refused() { start_over(); }

    /// Whether the books are the exchange's, as far as the datagrams tell.
    bool is_in_sync() const { return !is_rebuilding_ && next_ >= end_; }
    /// The number of the last message taken.
    std::uint64_t sequence() const { return next_ - 1; }
    /// Books by the number of their instrument.
    const std::vector<Book>& books() const { return books_; }
    /// The hash of all books, as DESCRIPTION has it.
    std::uint64_t book_hash() const;

    const FeedCounters& counters() const { return counters_; }

private:
    static constexpr std::uint64_t retry_ns = 250'000'000;

    /// A datagram that came too early, in `held_bytes_`.
    struct Held {
        std::uint64_t sequence;
        std::size_t at;
        std::size_t size;
    };

    bool is_of_session(const FeedPacket& packet);
    void part(const FeedPacket& packet, std::span<const std::uint8_t> datagram);
    FeedFault load();
    FeedFault apply(const FeedPacket& packet);
    FeedFault change(const feed::Level& level);
    FeedFault change(const feed::State& state);
    FeedFault change(const feed::Trade&) { return FeedFault::none; }
    FeedFault change(const feed::Definition& definition);
    void hold(const FeedPacket& packet, std::span<const std::uint8_t> datagram);
    void take_held();
    void drop_held();
    void start_over();

    std::uint64_t session_;
    std::uint64_t other_session_ = 0;
    std::uint32_t other_session_datagrams_ = 0;
    /// The number of the next message, and the end of what is known to have been sent.
    std::uint64_t next_ = 1;
    std::uint64_t end_ = 1;
    bool is_rebuilding_ = true;
    std::vector<Book> books_;
    std::vector<std::uint8_t> held_bytes_;
    std::vector<Held> held_;
    std::uint64_t held_from_ = UINT64_MAX;
    /// Parts of the snapshot that is on its way, and how many have come.
    std::vector<std::vector<std::uint8_t>> parts_;
    std::size_t parts_here_ = 0;
    std::uint64_t snapshot_sequence_ = 0;
    enum class Want : std::uint8_t { nothing, snapshot, replay };
    /// What was asked for last, up to which number, and the last time that it brought something.
    Want asked_ = Want::nothing;
    std::uint64_t asked_until_ = 0;
    std::uint64_t asked_ns_ = 0;
    std::uint64_t asked_progress_ = 0;
    FeedCounters counters_;
};

} // namespace tickpath
