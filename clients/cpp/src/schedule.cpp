#include "schedule.hpp"

#include <cmath>

namespace tickpath {

Schedule::Schedule(const Load& load)
    : arrival_(load.arrival), burst_(load.burst), random_(load.seed),
      gap_fixed_(static_cast<Wide>(std::round(1e9 / load.rate_per_second * 0x1p32))) {
    if (arrival_ == Arrival::poisson) {
        offset_fixed_ = exponential_gap();
    }
}

void Schedule::advance() {
    ++index_;
    switch (arrival_) {
    case Arrival::uniform:
        offset_fixed_ += gap_fixed_;
        break;
    case Arrival::poisson:
        offset_fixed_ += exponential_gap();
        break;
    case Arrival::burst:
        if (index_ % burst_ == 0) {
            offset_fixed_ += gap_fixed_ * burst_;
        }
        break;
    }
}

Wide Schedule::exponential_gap() {
    // In (0, 1], so that its logarithm exists.
    const double unit = static_cast<double>((random_.bits() >> 11) + 1) / 0x1p53;
    return static_cast<Wide>(-std::log(unit) * static_cast<double>(gap_fixed_));
}

} // namespace tickpath
