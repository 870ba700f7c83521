#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tickpath {

/// 64 bits with a fraction, or a product of 64 bits.
__extension__ using Wide = unsigned __int128;

/// The one clock of a run: nanoseconds on a monotonic timeline, from the cheapest counter that is
/// reliable on this machine. `tickpath trade` chooses by the same rules.
class Clock {
public:
    enum class Source { tsc, cntvct, monotonic_raw };

    /// Picks the counter and calibrates it; takes 40 ms on x86-64.
    static Clock calibrate();

    /// Nanoseconds now. Earlier instructions have completed when the counter is read.
    [[gnu::always_inline]] std::uint64_t now_ns() const {
        const std::uint64_t elapsed = count(source_) - origin_count_;
        return origin_ns_ + static_cast<std::uint64_t>((Wide{elapsed} * ns_per_count_) >> 32);
    }

    /// The name of the counter in the result.
    const char* source_name() const;

    /// Median cost of one reading, ns.
    std::uint64_t cost_ns() const;

private:
    [[gnu::always_inline]] static std::uint64_t count([[maybe_unused]] Source source) {
#if defined(__x86_64__)
        if (source == Source::tsc) {
            _mm_lfence();
            return __rdtsc();
        }
#elif defined(__aarch64__)
        std::uint64_t value;
        asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
        return value;
#endif
        return raw_ns();
    }

    static std::uint64_t raw_ns();
    static Source pick();
    static void at_once(Source source, std::uint64_t& at_count, std::uint64_t& at_ns);

    Source source_ = Source::monotonic_raw;
    /// Nanoseconds per count, 32.32 fixed point.
    std::uint64_t ns_per_count_ = std::uint64_t{1} << 32;
    std::uint64_t origin_count_ = 0;
    std::uint64_t origin_ns_ = 0;
};

} // namespace tickpath
