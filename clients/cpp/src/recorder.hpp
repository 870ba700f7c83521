#pragma once

#include "histogram.hpp"
#include "plan.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tickpath {

/// The series of a load.
enum class Series : std::uint8_t {
    order_response,
    order_service,
    cancel_response,
    cancel_service,
    cycle_service,
    send_lateness,
};
constexpr std::size_t series_count = 6;

/// One interval, about a second, of all series.
struct Interval {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    /// nullptr for a series that the load does not have.
    std::array<std::unique_ptr<Histogram>, series_count> histograms;
};

/// A ring of intervals from one thread to another.
class IntervalRing {
public:
    /// Holds at most `capacity` intervals.
    explicit IntervalRing(std::size_t capacity) : slots_(capacity) {}

    void push(Interval* interval) {
        const std::size_t tail = tail_.load(std::memory_order_relaxed);
        slots_[tail % slots_.size()] = interval;
        tail_.store(tail + 1, std::memory_order_release);
    }

    /// nullptr if it is empty.
    Interval* pop() {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire)) {
            return nullptr;
        }
        Interval* interval = slots_[head % slots_.size()];
        head_.store(head + 1, std::memory_order_release);
        return interval;
    }

private:
    std::vector<Interval*> slots_;
    alignas(64) std::atomic<std::size_t> head_ = 0;
    alignas(64) std::atomic<std::size_t> tail_ = 0;
};

/// Latencies of a run. The measuring thread adds to preallocated histograms and swaps the whole set
/// once a second. The other thread encodes them, after the run or, above a minute, during it.
class Recorder {
public:
    /// A run up to this long is kept in memory and written after it.
    static constexpr double seconds_in_memory_max = 60;

    Recorder(Model model, double seconds);

    // --- the measuring thread ---

    /// Drops the warm-up and starts the first interval.
    void start(std::uint64_t now_ns);

    void record(Series series, std::uint64_t value_ns) {
        current_->histograms[static_cast<std::size_t>(series)]->record(value_ns);
    }

    /// Ends the interval if its time is over. Without an empty set the interval gets longer, so
    /// that nothing is lost.
    void roll(std::uint64_t now_ns) {
        if (now_ns >= boundary_ns_) {
            swap(now_ns);
        }
    }

    /// Ends the last interval, and the run.
    void finish(std::uint64_t now_ns);

    // --- the other thread ---

    /// The next complete interval; nullptr if there is none.
    Interval* next() { return full_.pop(); }

    /// Returns an interval for reuse.
    void give_back(Interval* interval);

private:
    void swap(std::uint64_t now_ns);

    std::vector<Interval> pool_;
    IntervalRing full_;
    IntervalRing free_;
    Interval* current_;
    std::uint64_t boundary_ns_ = UINT64_MAX;
};

/// Appends intervals to the log of a run.
class LogWriter {
public:
    /// Opens `path` for appending. Throws Error if that fails.
    LogWriter(const std::string& path, const std::string& subject);
    ~LogWriter();
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    /// `wall_seconds` since 1970 is the time of `start_ns` on the run's clock.
    void begin(double wall_seconds, std::uint64_t start_ns);

    void write(const Interval& interval);

    /// Writes the buffered lines. Throws Error if that fails.
    void flush();

private:
    std::string path_;
    std::string subject_;
    int file_;
    std::string waiting_;
    std::uint64_t start_ns_ = 0;
};

} // namespace tickpath
