#pragma once

#include <ctime>

#include <array>
#include <cstdint>
#include <optional>

namespace tickpath {

/// Processor time, user and system, of this process and of the exchange's, each with all threads.
class ProcessorMeter {
public:
    /// `exchange_process` is a process of this machine.
    explicit ProcessorMeter(std::optional<std::uint32_t> exchange_process = std::nullopt);

    /// Begins anew.
    void start();

    /// Processor time of the client and of the exchange, ns; empty where it can't be told.
    std::array<std::optional<std::uint64_t>, 2> used_ns() const;

private:
    std::array<std::optional<clockid_t>, 2> clocks_;
    std::array<std::optional<std::uint64_t>, 2> started_ns_;
};

} // namespace tickpath
