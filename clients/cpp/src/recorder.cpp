#include "recorder.hpp"

#include "error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace tickpath {
namespace {

constexpr std::uint64_t interval_ns = 1'000'000'000;
/// Sets of histograms of a run that is drained during the run.
constexpr std::size_t sets_with_thread = 8;

constexpr std::array<const char*, series_count> names = {
    "order.response", "order.service", "cancel.response", "cancel.service", "cycle.service", "send.lateness",
};

bool has(Model model, Series series) {
    switch (series) {
    case Series::order_response:
    case Series::cancel_response:
        return model == Model::open;
    case Series::send_lateness:
        return model == Model::open;
    case Series::cycle_service:
        return model == Model::ping_pong;
    default:
        return true;
    }
}

std::size_t sets(double seconds) {
    // One for each second, one for the last replies, and three for a late start or end.
    const bool is_in_memory = seconds <= Recorder::seconds_in_memory_max;
    return is_in_memory ? static_cast<std::size_t>(std::ceil(seconds)) + 4 : sets_with_thread;
}

} // namespace

Recorder::Recorder(Model model, double seconds)
    : pool_(sets(seconds)), full_(pool_.size()), free_(pool_.size()), current_(&pool_[0]) {
    for (Interval& interval : pool_) {
        for (std::size_t i = 0; i < series_count; ++i) {
            if (has(model, static_cast<Series>(i))) {
                interval.histograms[i] = std::make_unique<Histogram>();
            }
        }
        if (&interval != current_) {
            free_.push(&interval);
        }
    }
}

void Recorder::start(std::uint64_t now_ns) {
    for (auto& histogram : current_->histograms) {
        if (histogram && histogram->total() > 0) {
            histogram->clear();
        }
    }
    current_->start_ns = now_ns;
    boundary_ns_ = now_ns + interval_ns;
}

void Recorder::swap(std::uint64_t now_ns) {
    Interval* next = free_.pop();
    if (next == nullptr) {
        return;
    }
    next->start_ns = now_ns;
    boundary_ns_ += interval_ns * ((now_ns - boundary_ns_) / interval_ns + 1);
    current_->end_ns = now_ns;
    full_.push(current_);
    current_ = next;
}

void Recorder::finish(std::uint64_t now_ns) {
    current_->end_ns = now_ns;
    full_.push(current_);
    current_ = nullptr;
}

void Recorder::give_back(Interval* interval) {
    for (auto& histogram : interval->histograms) {
        if (histogram) {
            histogram->clear();
        }
    }
    free_.push(interval);
}

LogWriter::LogWriter(const std::string& path, const std::string& subject)
    : path_(path), subject_(subject), file_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0) {
        throw Error("cannot write " + path + ": " + errno_text(errno) + "; choose another place");
    }
}

LogWriter::~LogWriter() { close(file_); }

void LogWriter::begin(double wall_seconds, std::uint64_t start_ns) {
    start_ns_ = start_ns;
    char line[200];
    std::snprintf(line, sizeof line,
                  "#[Logged with tickpath's C++ client; values in nanoseconds]\n"
                  "#[StartTime: %.3f (seconds since epoch)]\n#[BaseTime: %.3f (seconds since epoch)]\n",
                  wall_seconds, wall_seconds);
    waiting_ += line;
}

void LogWriter::write(const Interval& interval) {
    for (std::size_t i = 0; i < series_count; ++i) {
        const Histogram* histogram = interval.histograms[i].get();
        if (histogram == nullptr || histogram->total() == 0) {
            continue;
        }
        const double offset = static_cast<double>(interval.start_ns - start_ns_) / 1e9;
        const double length = static_cast<double>(interval.end_ns - interval.start_ns) / 1e9;
        char times[100];
        std::snprintf(times, sizeof times, ",%.3f,%.3f,%.3f,", offset, length,
                      static_cast<double>(histogram->max_ns()));
        waiting_ += "Tag=" + subject_ + "." + names[i] + times + histogram->encoded() + "\n";
    }
}

void LogWriter::flush() {
    std::size_t written = 0;
    while (written < waiting_.size()) {
        const ssize_t n = ::write(file_, waiting_.data() + written, waiting_.size() - written);
        if (n < 0 && errno != EINTR) {
            throw Error("cannot write " + path_ + ": " + errno_text(errno) +
                        "; free some space or choose another place");
        }
        written += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    waiting_.clear();
}

} // namespace tickpath
