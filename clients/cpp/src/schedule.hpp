#pragma once

#include "clock.hpp"
#include "plan.hpp"

#include <cstdint>

namespace tickpath {

/// SplitMix64 (Steele, Lea, Flood 2014). Not for secrets.
class SplitMix64 {
public:
    explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

    std::uint64_t bits() {
        state_ += 0x9E37'79B9'7F4A'7C15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
        z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
        return z ^ (z >> 31);
    }

private:
    std::uint64_t state_;
};

/// When each message is due, in ns after the start. The plan fixes it, it is never re-based, and it
/// is the same in every client.
class Schedule {
public:
    explicit Schedule(const Load& load);

    /// When the next message is due.
    std::uint64_t offset_ns() const { return static_cast<std::uint64_t>(offset_fixed_ >> 32); }

    /// Its number, from 0.
    std::uint64_t index() const { return index_; }

    void advance();

private:
    Wide exponential_gap();

    Arrival arrival_;
    std::uint64_t burst_;
    SplitMix64 random_;
    std::uint64_t index_ = 0;
    /// Mean gap and position, ns with 32 fractional bits.
    Wide gap_fixed_;
    Wide offset_fixed_ = 0;
};

} // namespace tickpath
