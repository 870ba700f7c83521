#pragma once

#include "desk.hpp"
#include "plan.hpp"

#include <atomic>

namespace tickpath {

/// Set by SIGINT and SIGTERM.
using Stop = std::atomic<bool>;

/// Run a load, and wait for its last replies. Return whether it was completed.
bool run_open_loop(Desk& desk, const Plan& plan, const Stop& stop);
bool run_ping_pong(Desk& desk, const Plan& plan, const Stop& stop);

/// Time for the last replies after the last message.
constexpr std::uint64_t drain_ns = 1'000'000'000;
/// A sleeping backend wakes at least this often, to check whether it should stop.
constexpr std::uint64_t wait_ns_max = 50'000'000;

} // namespace tickpath
