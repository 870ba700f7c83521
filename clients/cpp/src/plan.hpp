#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tickpath {

enum class Model { open, ping_pong };
enum class Arrival { uniform, poisson, burst };
/// The dialect of orders: JSON over WebSocket, or SBE.
enum class Wire { websocket_json, sbe };

/// `load` of a plan.
struct Load {
    Model model = Model::open;
    /// Messages per second, orders and cancels together; open loop only.
    double rate_per_second = 0;
    Arrival arrival = Arrival::uniform;
    std::uint64_t burst = 1;
    std::uint64_t seed = 42;
    std::size_t accounts = 1;
    std::size_t connections = 1;
    std::uint64_t cancel_after = 1;
    std::string instrument;
    std::string side;
    std::string price;
    std::string amount;
    std::uint64_t first_token = 0;

    /// Messages of open loop in that time, rounded up to blocks of orders with their cancels.
    std::uint64_t messages(double seconds) const;
};

/// The authorities and the name that the exchange's certificate is checked against.
struct Trust {
    std::optional<std::string> ca;
    std::optional<std::string> ca_pem;
    std::optional<std::string> name;
};

/// The scheduling class of the measuring thread.
struct Scheduling {
    /// SCHED_OTHER, SCHED_FIFO or SCHED_RR.
    int policy = 0;
    int priority = 0;
};

/// A plan: the line of JSON that clients/CONTRACT.md describes.
struct Plan {
    std::string subject;
    /// `HOST:PORT`.
    std::string target;
    Wire wire = Wire::websocket_json;
    /// `spin` or `block`; over io_uring `io_uring_spin` or `io_uring`.
    std::string backend;
    std::optional<std::size_t> core;
    Scheduling scheduling;
    Load load;
    double warm_up_seconds = 0;
    double seconds = 0;
    std::string hlog;
    std::optional<Trust> tls;
    /// Whether to print a line a second.
    bool has_progress = false;
    /// The exchange's process, if it runs on this machine.
    std::optional<std::uint32_t> exchange_process;

    /// Whether the measuring thread keeps its core busy while it waits.
    bool spins() const { return backend == "spin" || backend == "io_uring_spin"; }
    /// Whether the backend is io_uring. The option --io-uring asks for it with other backends.
    bool uses_uring() const { return backend == "io_uring" || backend == "io_uring_spin"; }

    /// Reads and checks a plan. Throws Error that names the key.
    static Plan parse(std::string_view line);
};

} // namespace tickpath
