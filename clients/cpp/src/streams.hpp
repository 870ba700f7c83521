#pragma once

#include "clock.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tickpath {

/// A lane that may have something to read or, if it was watched, takes bytes again.
struct ReadyLane {
    std::uint32_t lane = 0;
    bool is_writable = false;
};

/// The outcome of a read or a write.
struct Transfer {
    enum class Outcome : std::uint8_t {
        /// `n` bytes; 0 if a write would block.
        bytes,
        /// Nothing to read now.
        empty,
        /// The other end has closed the stream.
        closed,
        /// The stream is broken; see `error`.
        failed,
    };
    Outcome outcome = Outcome::empty;
    /// Whether there is certainly more to read.
    bool has_more = false;
    /// An errno; 0 if `why` has the reason.
    int error = 0;
    const char* why = nullptr;
    std::size_t n = 0;
    /// Stamp of the last instruction before the write call, or of the first after the read call.
    std::uint64_t stamp_ns = 0;

    static Transfer bytes(std::size_t n, std::uint64_t stamp_ns) {
        return {Outcome::bytes, false, 0, nullptr, n, stamp_ns};
    }
    static Transfer failed(int error) { return {Outcome::failed, false, error, nullptr, 0, 0}; }
};

/// The sockets of one thread. Lanes are numbered in the order in which they were added.
class Streams {
public:
    Streams() = default;
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;
    virtual ~Streams() = default;

    /// Takes ownership of a connected socket.
    virtual void add(int socket) = 0;

    /// Adds lanes to `ready`, which has space for two entries per lane. A backend that sleeps waits
    /// until `until_ns`; one that spins looks once. Returns 0 or an errno.
    virtual int wait(std::uint64_t until_ns, std::vector<ReadyLane>& ready) = 0;

    virtual Transfer read(std::uint32_t lane, std::uint8_t* into, std::size_t size) = 0;
    virtual Transfer write(std::uint32_t lane, const std::uint8_t* from, std::size_t size) = 0;

    /// Sets whether `wait` reports that the lane takes bytes again. Returns 0 or an errno.
    virtual int watch_writable(std::uint32_t lane, bool watch) = 0;
};

/// epoll and the socket calls, waiting (`block`) or polling without a pause (`spin`).
std::unique_ptr<Streams> open_readiness(const Clock& clock, bool spins, std::size_t lanes);

/// io_uring, waiting or spinning on the completion queue. Throws Error if the kernel lacks a
/// feature: there is no fall-back.
std::unique_ptr<Streams> open_uring(const Clock& clock, bool spins, std::size_t lanes);

/// Sets the options of a measured socket: no delay of small segments, and keep-alive probes that
/// detect a lost peer.
void prepare_socket(int socket);

} // namespace tickpath
