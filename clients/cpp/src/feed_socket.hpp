#pragma once

#include "clock.hpp"

#include <array>
#include <span>
#include <string>

namespace tickpath {

/// The socket of the feed's datagrams, on the local address of `connection`.
class FeedSocket {
public:
    /// Throws Error if there is no socket, or the connection is not IPv4 as the feed is.
    explicit FeedSocket(int connection);
    ~FeedSocket();
    FeedSocket(const FeedSocket&) = delete;
    FeedSocket& operator=(const FeedSocket&) = delete;

    /// The address for SUBSCRIBE, `IP:PORT`.
    const std::string& address() const { return address_; }
    int socket() const { return socket_; }

    /// The next datagram; empty if there is none. `stamp_ns` is taken right after the read.
    std::span<const std::uint8_t> read(const Clock& clock, std::uint64_t& stamp_ns);

private:
    int socket_;
    std::string address_;
    std::array<std::uint8_t, 65536> bytes_{};
};

} // namespace tickpath
