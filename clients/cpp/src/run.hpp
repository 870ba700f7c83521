#pragma once

#include "desk.hpp"
#include "load.hpp"
#include "plan.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tickpath {

/// What stands in the result.
struct Result {
    bool is_complete = false;
    std::vector<std::string> failures;
    Counters counters;
    std::string clock_source;
    std::uint64_t clock_cost_ns = 0;

    /// The line of JSON that clients/CONTRACT.md describes.
    std::string json(const Load& load) const;
};

/// A number that differs from that of other runs against the same exchange. Not from time and
/// process id: hosts of a fleet begin together, and in containers they share process ids.
std::uint32_t nonce();

/// Pins the calling thread. Throws Error if the kernel refuses.
void pin(std::size_t core);

/// Takes a line of progress.
using Tell = std::function<void(const std::string&)>;

/// Carries a plan out, over io_uring if `uses_uring` is set or the plan's backend is io_uring's,
/// otherwise over epoll. Returns soon after `stop` is set,
/// with what was measured so far. Throws Error or Interrupted if there is no result.
///
/// Measures on a thread of its own, which alone is pinned to the plan's core. The caller's thread
/// writes the log: after the run or, if that is longer than a minute, during it. If the plan asks for
/// progress it calls `tell` once a second, off the plan's core, or never where there is no other.
Result run(const Plan& plan, bool uses_uring, Stop& stop, const Tell& tell = {});

} // namespace tickpath
