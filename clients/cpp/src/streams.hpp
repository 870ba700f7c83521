#pragma once

#include "clock.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tickpath {

/// What a wait found: there may be something to read, or a watched stream takes bytes again.
struct Ready {
    std::uint32_t lane = 0;
    bool is_writable = false;
};

/// How a read or a write went.
struct Transfer {
    enum class Outcome : std::uint8_t {
        /// `n` bytes; of a write perhaps none.
        bytes,
        /// Nothing to read now.
        empty,
        /// The other end has ended the stream.
        closed,
        /// The stream is broken; see `error`.
        failed,
    };
    Outcome outcome = Outcome::empty;
    /// There is certainly more to read.
    bool has_more = false;
    /// An errno; 0 if the words are in `why`.
    int error = 0;
    const char* why = nullptr;
    std::size_t n = 0;
    /// Taken by the last instruction before the write call, or the first after the read call.
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

    /// Takes a connected socket over.
    virtual void add(int socket) = 0;

    /// Adds what may be ready to `ready`, which has room for two entries a lane. A backend that
    /// sleeps does so until `until_ns`; one that spins looks once. Returns 0 or an errno.
    virtual int wait(std::uint64_t until_ns, std::vector<Ready>& ready) = 0;

    virtual Transfer read(std::uint32_t lane, std::uint8_t* into, std::size_t size) = 0;
    virtual Transfer write(std::uint32_t lane, const std::uint8_t* from, std::size_t size) = 0;

    /// Whether `wait` shall report when the lane takes bytes again. Returns 0 or an errno.
    virtual int watch_writable(std::uint32_t lane, bool watch) = 0;
};

/// epoll and the socket calls, waiting (`block`) or polling without a pause (`spin`).
std::unique_ptr<Streams> open_readiness(const Clock& clock, bool spins, std::size_t lanes);

/// io_uring, waiting or spinning on the completion queue. Throws Error if the kernel lacks what it
/// needs: it never falls back to something else.
std::unique_ptr<Streams> open_uring(const Clock& clock, bool spins, std::size_t lanes);

/// Options of a measured socket: no delay of small segments, and the keep-alive times after which a
/// peer that vanished without a word counts as gone.
void prepare_socket(int socket);

} // namespace tickpath
