#include "progress.hpp"

#include "json.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tickpath {
namespace {

/// A shorter interval is the fragment at the end of a run.
constexpr std::uint64_t second_ns_min = 500'000'000;
/// A percentile needs this many samples above it.
constexpr double samples_beyond_min = 10;
constexpr double buckets_per_doubling = 8;

Json percentile(const Histogram& values, double share) {
    // Rounded: 1000 * (1 - 0.99) is a little less than 10.
    const double beyond = std::round(static_cast<double>(values.total()) * (1 - share) * 1e6) / 1e6;
    return beyond >= samples_beyond_min ? Json(values.at(share)) : Json();
}

} // namespace

int bucket(std::uint64_t ns) {
    const double seconds = static_cast<double>(std::max<std::uint64_t>(ns, 1)) / 1e9;
    return static_cast<int>(std::ceil(std::log2(seconds) * buckets_per_doubling));
}

bool keep_off(std::size_t core) {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) {
        return false;
    }
    if (core < CPU_SETSIZE) {
        CPU_CLR(core, &cores);
    }
    return CPU_COUNT(&cores) > 0 && sched_setaffinity(0, sizeof cores, &cores) == 0;
}

std::optional<std::string> ProgressLines::line(const Interval& interval) {
    if (!first_ns_) {
        first_ns_ = interval.start_ns;
    }
    const std::uint64_t length_ns = interval.end_ns - interval.start_ns;
    if (length_ns < second_ns_min) {
        return std::nullopt;
    }
    const auto histogram = [&](Series series) -> const Histogram& {
        return *interval.histograms[static_cast<std::size_t>(series)];
    };
    const bool is_open = model_ == Model::open;
    const Histogram& values = histogram(is_open ? Series::order_response : Series::order_service);
    const std::uint64_t messages = is_open ? histogram(Series::send_lateness).total()
                                           : values.total() + histogram(Series::cancel_service).total();
    std::map<int, std::uint64_t> counts;
    double sum_ns = 0;
    values.each([&](std::uint64_t lowest_ns, std::uint64_t highest_ns, std::uint64_t count) {
        counts[bucket(highest_ns)] += count;
        sum_ns += static_cast<double>(lowest_ns + (highest_ns - lowest_ns + 1) / 2) * static_cast<double>(count);
    });
    const double seconds = static_cast<double>(interval.end_ns - *first_ns_) / 1e9;
    const double messages_per_second = static_cast<double>(messages) * 1e9 / static_cast<double>(length_ns);
    return line_of({{"progress",
                     {{"seconds", seconds},
                      {"messages_per_second", messages_per_second},
                      {"series", is_open ? "order.response" : "order.service"},
                      {"p50_ns", percentile(values, 0.5)},
                      {"p99_ns", percentile(values, 0.99)},
                      {"buckets", std::vector(counts.begin(), counts.end())},
                      {"sum_ns", static_cast<std::uint64_t>(sum_ns)}}}});
}

} // namespace tickpath
