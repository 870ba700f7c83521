#pragma once

#include "frame.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace tickpath::tests {

/// The behaviour of a scripted exchange towards an order, and from there on.
enum class Fault { none, closes, resets, is_silent, sends_malformed_json, rejects, sends_foreign_replies };

struct Script {
    Fault fault = Fault::none;
    /// Orders before the fault.
    std::uint64_t after = 0;
    /// Sends each reply in two pieces, with unknown keys and a ping (in SBE: an unknown field and a
    /// heartbeat) before it.
    bool is_odd = false;
    /// Answers the upgrade with this status. In SBE any other than 101 rejects the logon.
    std::string status = "101 Switching Protocols";
    /// The feed drops one message in this many, and replays it on request; 0: it drops none.
    std::uint64_t loses_every = 0;
    /// Called with the number of each order.
    void (*watch)(std::uint64_t orders) = nullptr;
};

/// A small exchange in a thread of its own, which acknowledges all orders and cancels. The orders
/// of a subscriber of the feed expire; it gets the next tick after each order, and when the
/// exchange is idle. A connection that begins with a zero speaks SBE, and has one account.
class Exchange {
public:
    explicit Exchange(Script script);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    const std::string& address() const { return address_; }
    std::uint64_t orders() const { return orders_; }
    std::uint64_t cancels() const { return cancels_; }
    /// Pongs, or in SBE heartbeats.
    std::uint64_t pongs() const { return pongs_; }

private:
    struct Connection {
        int socket = -1;
        bool is_upgraded = false;
        std::string bytes;
        std::vector<std::string> tokens;
        /// The port of the feed's subscriber; 0 without one.
        std::uint16_t feed_port = 0;
        /// The last request's number, in SBE.
        std::uint64_t sbe_sequence = 0;
    };

    void serve();
    bool read(Connection& connection);
    bool take_frame(Connection& connection);
    bool answer(Connection& connection, const std::string& text);
    bool take_order(const Connection& connection, bool is_order);
    bool is_due() const { return orders_ > script_.after; }
    void subscribe(Connection& connection, const std::string& text);
    bool answer_follower(Connection& connection, const std::string& type, const std::string& text);
    void tick(const Connection& connection);
    void send_datagram(const Connection& connection, const std::vector<std::uint8_t>& datagram);
    void acknowledge(const Connection& connection, const std::string& text, bool is_order);
    bool read_sbe(Connection& connection);
    bool answer_sbe(Connection& connection, const std::string& frame);
    void acknowledge_sbe(const Connection& connection, const std::string& client_id, bool is_order);
    static void send_in_halves(const Connection& connection, const std::string& bytes);
    static void send(const Connection& connection, const std::string& bytes);

    Script script_;
    int listener_;
    int feed_socket_;
    std::uint64_t feed_sequence_ = 10;
    std::string address_;
    std::atomic<bool> stop_ = false;
    std::atomic<std::uint64_t> orders_ = 0;
    std::atomic<std::uint64_t> cancels_ = 0;
    std::atomic<std::uint64_t> pongs_ = 0;
    std::thread thread_;
};

/// Excludes the calling thread from the test of allocations.
void exclude_this_thread();

} // namespace tickpath::tests
