#pragma once

#include "desk.hpp"
#include "load.hpp"
#include "plan.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tickpath {

/// The result of a run.
struct Result {
    bool is_complete = false;
    std::vector<std::string> failures;
    Counters counters;
    /// Whether the measuring thread kept its core busy while it waited.
    bool spins = false;
    std::string clock_source;
    std::uint64_t clock_cost_ns = 0;

    /// The line of JSON that clients/CONTRACT.md describes.
    std::string json(const Load& load) const;
};

/// A random number, so that runs against the same exchange have different client ids. Time and
/// process id would not do: hosts of a fleet start together, and containers share process ids.
std::uint32_t nonce();

/// Pins the calling thread. Throws Error if that fails.
void pin(std::size_t core);

/// Takes a line of progress.
using ProgressSink = std::function<void(const std::string&)>;

/// Carries a plan out, over io_uring if `uses_uring` is set or the plan's backend is io_uring,
/// otherwise over epoll. Returns soon after `stop` is set, with an incomplete result. Throws Error
/// or Interrupted if there is no result.
///
/// Measures on a thread of its own, the only one that is pinned to the plan's core. The caller's
/// thread writes the log: after the run or, if that is longer than a minute, during it. If the plan
/// asks for progress and there is another core, it calls `progress` once a second on that core.
Result run(const Plan& plan, bool uses_uring, Stop& stop, const ProgressSink& progress = {});

} // namespace tickpath
