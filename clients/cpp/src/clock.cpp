#include "clock.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

namespace tickpath {
namespace {

/// The error of the rate is below 5 ppm after this time.
constexpr auto calibration = std::chrono::milliseconds(40);
constexpr std::size_t readings = 1001;

} // namespace

std::uint64_t Clock::raw_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

Clock::Source Clock::pick() {
#if defined(__x86_64__)
    // The kernel lists the TSC only if it is invariant, synchronous between cores and not trapped.
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    std::string name;
    while (file >> name) {
        if (name == "tsc") {
            return Source::tsc;
        }
    }
    return Source::monotonic_raw;
#elif defined(__aarch64__)
    return Source::cntvct;
#else
    return Source::monotonic_raw;
#endif
}

/// Reads the counter and the kernel's clock at the same moment. It takes the closest of 64 pairs,
/// in case an interrupt separates the two readings.
void Clock::at_once(Source source, std::uint64_t& at_count, std::uint64_t& at_ns) {
    std::uint64_t closest = UINT64_MAX;
    for (int i = 0; i < 64; ++i) {
        const std::uint64_t before = count(source);
        const std::uint64_t ns = raw_ns();
        const std::uint64_t width = count(source) - before;
        if (width < closest) {
            closest = width;
            at_count = before + width / 2;
            at_ns = ns;
        }
    }
}

Clock Clock::calibrate() {
    Clock clock;
    clock.source_ = pick();
    at_once(clock.source_, clock.origin_count_, clock.origin_ns_);
    if (clock.source_ == Source::monotonic_raw) {
        return clock;
    }
    std::this_thread::sleep_for(calibration);
    std::uint64_t end_count = 0;
    std::uint64_t end_ns = 0;
    at_once(clock.source_, end_count, end_ns);
    const Wide elapsed_ns = Wide{end_ns - clock.origin_ns_} << 32;
    clock.ns_per_count_ = static_cast<std::uint64_t>(elapsed_ns / (end_count - clock.origin_count_));
    return clock;
}

const char* Clock::source_name() const {
    switch (source_) {
    case Source::tsc:
        return "tsc";
    case Source::cntvct:
        return "cntvct";
    case Source::monotonic_raw:
        break;
    }
    return "monotonic_raw";
}

std::uint64_t Clock::cost_ns() const {
    std::array<std::uint64_t, readings> costs{};
    for (std::uint64_t& cost : costs) {
        const std::uint64_t start = now_ns();
        cost = now_ns() - start;
    }
    std::sort(costs.begin(), costs.end());
    return costs[readings / 2];
}

} // namespace tickpath
