#pragma once

#include <cstdint>
#include <vector>

namespace tickpath {

/// Limit on unanswered orders. A further one waits, and its response time contains the wait.
constexpr std::size_t in_flight_max = std::size_t{1} << 14;

/// One of an order's two messages.
enum class Kind : std::uint8_t { order, cancel };

enum class Progress : std::uint8_t { unsent, in_flight, answered };

/// One message, from its intended send to its reply.
struct Stamps {
    std::uint64_t intended_ns = 0;
    std::uint64_t sent_ns = 0;
    /// Numbers the messages of the run in the order of sending.
    std::uint64_t sequence = 0;
    Progress progress = Progress::unsent;
};

struct Order {
    /// A free slot has a number that no order has.
    std::uint64_t number = UINT64_MAX;
    std::uint32_t account = 0;
    /// False in the warm-up.
    bool is_measured = false;
    Stamps order;
    Stamps cancel;

    Stamps& stamps(Kind kind) { return kind == Kind::order ? order : cancel; }

    bool is_over() const {
        return order.progress != Progress::in_flight && cancel.progress != Progress::in_flight;
    }
};

/// Orders that were sent, in a ring of slots that the order's number finds.
class InFlight {
public:
    InFlight() : slots_(in_flight_max) {}

    /// The slot for a new order; nullptr while its last order is unanswered.
    Order* open(std::uint64_t number, std::uint32_t account, bool is_measured) {
        Order& slot = slots_[number % in_flight_max];
        if (!slot.is_over()) {
            return nullptr;
        }
        slot = Order{number, account, is_measured, {}, {}};
        return &slot;
    }

    /// The order of that number; nullptr if its slot belongs to another.
    Order* find(std::uint64_t number) {
        Order& slot = slots_[number % in_flight_max];
        return slot.number == number ? &slot : nullptr;
    }

private:
    std::vector<Order> slots_;
};

} // namespace tickpath
