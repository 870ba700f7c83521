#include "processor.hpp"

#include <sys/types.h>

namespace tickpath {
namespace {

std::optional<std::uint64_t> read_ns(const std::optional<clockid_t>& clock) {
    timespec now{};
    if (!clock || clock_gettime(*clock, &now) != 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace

ProcessorMeter::ProcessorMeter(std::optional<std::uint32_t> exchange_process) {
    clocks_[0] = CLOCK_PROCESS_CPUTIME_ID;
    clockid_t exchange = 0;
    if (exchange_process && clock_getcpuclockid(static_cast<pid_t>(*exchange_process), &exchange) == 0) {
        clocks_[1] = exchange;
    }
    start();
}

void ProcessorMeter::start() {
    for (std::size_t end = 0; end < clocks_.size(); ++end) {
        started_ns_[end] = read_ns(clocks_[end]);
    }
}

std::array<std::optional<std::uint64_t>, 2> ProcessorMeter::used_ns() const {
    std::array<std::optional<std::uint64_t>, 2> used;
    for (std::size_t end = 0; end < clocks_.size(); ++end) {
        const auto now_ns = read_ns(clocks_[end]);
        if (now_ns && started_ns_[end]) {
            used[end] = *now_ns - *started_ns_[end];
        }
    }
    return used;
}

} // namespace tickpath
