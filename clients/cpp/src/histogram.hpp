#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace tickpath {

/// An HdrHistogram with the contract's bounds: 1 ns to an hour, three significant digits. It writes
/// HdrHistogram's V2 format itself, because Debian has no package of HdrHistogram_c. A test reads
/// the log with tickpath.
class Histogram {
public:
    static constexpr std::uint64_t highest_ns = 3'600'000'000'000;

    Histogram();

    /// Adds a value. A value above an hour counts as an hour.
    void record(std::uint64_t value_ns) {
        const std::uint64_t value = value_ns < highest_ns ? value_ns : highest_ns;
        const std::size_t index = index_of(value);
        ++counts_[index];
        ++total_;
        last_ = index > last_ ? index : last_;
        max_ns_ = value > max_ns_ ? value : max_ns_;
    }

    void clear();

    std::uint64_t total() const { return total_; }
    std::uint64_t max_ns() const { return max_ns_; }

    /// The percentile `share` (0 to 1), to three digits; 0 if the histogram is empty.
    std::uint64_t at(double share) const;

    /// Calls `visit(lowest_ns, highest_ns, count)` for each counter that isn't zero, ascending.
    template <typename Visit>
    void each(Visit visit) const {
        for (std::size_t index = 0; total_ > 0 && index <= last_; ++index) {
            if (counts_[index] > 0) {
                visit(index == 0 ? 0 : highest_of(index - 1) + 1, highest_of(index), counts_[index]);
            }
        }
    }

    /// The V2 format, compressed, in base64.
    std::string encoded() const;

private:
    /// The first bucket has 2048 counters, each further one 1024.
    static constexpr unsigned half_bits = 10;

    static std::size_t index_of(std::uint64_t value) {
        const unsigned bucket = static_cast<unsigned>(std::bit_width(value | 2047)) - 11;
        return (std::size_t{bucket} << half_bits) + static_cast<std::size_t>(value >> bucket);
    }

    /// The highest value of a counter.
    static std::uint64_t highest_of(std::size_t index);

    std::vector<std::uint32_t> counts_;
    std::uint64_t total_ = 0;
    std::uint64_t max_ns_ = 0;
    /// The highest counter that is not zero.
    std::size_t last_ = 0;
};

} // namespace tickpath
