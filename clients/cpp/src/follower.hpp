#pragma once

#include "book.hpp"

#include <optional>

namespace tickpath {

/// Counts of a follower.
struct FeedCounters {
    std::uint64_t datagrams = 0;
    std::uint64_t heartbeats = 0;
    /// Messages that changed the books or were trades, without those of snapshots.
    std::uint64_t messages = 0;
    /// Live datagrams that arrived in sequence.
    std::uint64_t ticks = 0;
    /// Times that messages were found missing while the follower was in sync.
    std::uint64_t gaps = 0;
    std::uint64_t replays_asked = 0;
    std::uint64_t snapshots_asked = 0;
    std::uint64_t snapshots = 0;
    /// Datagrams that are malformed or contradict the books.
    std::uint64_t faults = 0;
};

/// Follows the channel LEVELS: checks sequence numbers, keeps the books, and makes the requests
/// when messages are missing. Reads no clock and does no I/O. Allocates nothing while it is in
/// sync.
class Follower {
public:
    /// Starts without books, so the first request is a snapshot.
    explicit Follower(std::uint64_t session);

    /// Takes a datagram. Returns true for a tick: live messages in sequence, and none is missing.
    bool take(std::span<const std::uint8_t> datagram);

    /// The request for missing messages, if there is one to send. Repeats it after `retry_ns`
    /// without progress.
    std::optional<std::string> next_request(std::uint64_t now_ns);

    /// Starts over with a new snapshot, for example because the exchange rejected a request.
    void restart();

    /// Whether no message is known to be missing.
    bool is_in_sync() const { return !is_rebuilding_ && next_ >= end_; }
    /// The number of the last message taken.
    std::uint64_t sequence() const { return next_ - 1; }
    /// Books, by instrument number.
    const std::vector<Book>& books() const { return books_; }
    /// The hash of all books, as in DESCRIPTION.
    std::uint64_t book_hash() const;

    const FeedCounters& counters() const { return counters_; }

private:
    static constexpr std::uint64_t retry_ns = 250'000'000;

    /// A datagram that arrived too early, in `held_bytes_`.
    struct HeldDatagram {
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

    std::uint64_t session_;
    std::uint64_t other_session_ = 0;
    std::uint32_t other_session_datagrams_ = 0;
    /// The number of the next message, and that after the last message known to be sent.
    std::uint64_t next_ = 1;
    std::uint64_t end_ = 1;
    bool is_rebuilding_ = true;
    std::vector<Book> books_;
    std::vector<std::uint8_t> held_bytes_;
    std::vector<HeldDatagram> held_;
    std::uint64_t held_from_ = UINT64_MAX;
    /// Parts of the requested snapshot, and the number of those received.
    std::vector<std::vector<std::uint8_t>> parts_;
    std::size_t parts_received_ = 0;
    std::uint64_t snapshot_sequence_ = 0;
    enum class Want : std::uint8_t { nothing, snapshot, replay };
    /// The last request, the end of its range, and the time and state of its last progress.
    Want asked_ = Want::nothing;
    std::uint64_t asked_until_ = 0;
    std::uint64_t asked_ns_ = 0;
    std::uint64_t asked_progress_ = 0;
    FeedCounters counters_;
};

} // namespace tickpath
