#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tickpath {

/// The time limit of a step of connecting or logging on.
using Deadline = std::chrono::steady_clock::time_point;

/// The bytes of a log-on, in both directions.
class Link {
public:
    Link() = default;
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    virtual ~Link() = default;

    virtual void write(std::string_view bytes, Deadline deadline) = 0;

    /// Reads some bytes; 0 if the other end has closed the connection.
    virtual std::size_t read(std::uint8_t* into, std::size_t size, Deadline deadline) = 0;
};

/// A socket while a connection is set up: it doesn't block, and each step has a deadline. A signal
/// that sets `stop` ends every wait with Interrupted.
class Connection final : public Link {
public:
    /// Connects to `HOST:PORT`. Throws Error with the reason if that fails.
    Connection(const std::string& target, const std::atomic<bool>& stop);
    ~Connection() override;

    void write(std::string_view bytes, Deadline deadline) override;
    std::size_t read(std::uint8_t* into, std::size_t size, Deadline deadline) override;

    /// The socket. The connection still owns it.
    int socket() const { return socket_; }

    /// Transfers the socket to the caller.
    int release();

private:
    void wait(short events, Deadline deadline) const;

    const std::atomic<bool>& stop_;
    int socket_ = -1;
};

/// The host of `HOST:PORT`, without the brackets of an IPv6 address.
std::string host_of(const std::string& target);

/// The deadline of a step that begins now.
Deadline step_deadline();

/// The run was interrupted before anything was measured.
struct Interrupted {};

/// A step took longer than its time limit.
struct TimedOut {};

} // namespace tickpath
