#include "feed_socket.hpp"

#include "error.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tickpath {
namespace {

/// Without CAP_NET_ADMIN the kernel limits it to net.core.rmem_max.
constexpr int receive_buffer_bytes = 8 << 20;

} // namespace

FeedSocket::FeedSocket(int connection) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    const bool is_known = getsockname(connection, raw, &size) == 0;
    const bool is_ip4 = is_known && address.sin_family == AF_INET;
    address.sin_port = 0;
    size = sizeof address;
    if (socket_ < 0 || !is_ip4 || bind(socket_, raw, size) != 0 || getsockname(socket_, raw, &size) != 0) {
        const std::string why = is_known && !is_ip4
                                    ? "the feed is IPv4, and the connection to the exchange is not"
                                    : errno_text(errno);
        if (socket_ >= 0) {
            close(socket_);
        }
        throw Error("cannot receive the feed: " + why);
    }
    if (setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &receive_buffer_bytes, sizeof receive_buffer_bytes) != 0) {
        setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    address_ = std::string(text) + ":" + std::to_string(ntohs(address.sin_port));
}

FeedSocket::~FeedSocket() { close(socket_); }

std::span<const std::uint8_t> FeedSocket::read(const Clock& clock, std::uint64_t& stamp_ns) {
    const ssize_t n = recv(socket_, bytes_.data(), bytes_.size(), 0);
    stamp_ns = clock.now_ns();
    if (n >= 0) {
        return {bytes_.data(), static_cast<std::size_t>(n)};
    }
    if (errno != EAGAIN && errno != EINTR) {
        throw Error("reading the feed failed: " + errno_text(errno));
    }
    return {};
}

} // namespace tickpath
