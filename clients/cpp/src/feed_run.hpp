#pragma once

#include "follower.hpp"
#include "histogram.hpp"
#include "load.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace tickpath {

/// Arguments of `tickpath-client feed`.
struct FeedOptions {
    /// HOST:PORT of the exchange.
    std::string target;
    std::uint64_t token = 3001;
    /// Seconds from the first complete book to the measured part, and of the measured part.
    double warm_up_seconds = 1;
    double seconds = 5;
    /// Ticks per order; 0 sends no orders.
    std::uint64_t order_every = 0;
    std::string instrument = "BTC_USDT";
    std::string price = "1";
    std::string amount = "1";
    std::optional<std::size_t> core;
    /// Polls the sockets without a pause instead of sleeping until one is ready.
    bool spins = false;
    /// Starts the exchange's flow, and compares the books with the exchange's at the end.
    bool is_operator = false;

    /// Parses the arguments after `feed`. Throws Error that names the wrong one.
    static FeedOptions parse(const std::vector<std::string>& words);
    static const char* usage();
};

/// The best prices of an instrument; an empty side has none.
struct FeedTop {
    std::string instrument;
    std::optional<PriceLevel> bid;
    std::optional<PriceLevel> ask;
    /// Prices of both sides.
    std::size_t levels = 0;
};

/// The result of following a feed.
struct FeedResult {
    bool is_complete = false;
    std::vector<std::string> failures;
    std::uint64_t session = 0;
    FeedCounters feed;
    std::uint64_t sequence = 0;
    std::uint64_t book_hash = 0;
    /// One for each instrument.
    std::vector<FeedTop> tops;
    /// The exchange's state of the feed; only an operator may ask for it.
    std::optional<std::uint64_t> exchange_sequence;
    std::string exchange_hash;
    std::uint64_t orders = 0;
    std::uint64_t answered = 0;
    std::uint64_t rejected = 0;
    /// Ticks that got no order, because an earlier one was unwritten or 2048 were unanswered.
    std::uint64_t held_back = 0;
    /// From the return of a tick's read to the write of its order; from that write to the reply's
    /// read.
    Histogram tick_to_trade;
    Histogram order_service;
    const char* clock_source = "";
    std::uint64_t clock_cost_ns = 0;

    std::string json() const;
};

/// Subscribes to the LEVELS feed by WebSocket, follows it over UDP, and answers ticks with orders
/// that don't rest. Runs on the caller's thread. Throws Error or Interrupted if there is no result.
FeedResult follow_feed(const FeedOptions& options, const Stop& stop);

/// The message that subscribes to the feed at our address.
std::string feed_subscription(const std::string& address);

} // namespace tickpath
