#pragma once

#include <cstdint>
#include <vector>

namespace tickpath {

/// Limit on unanswered orders. Above it an order waits, and its response time includes the wait.
constexpr std::size_t in_flight_max = std::size_t{1} << 14;

/// One of an order's two messages.
enum class MessageKind : std::uint8_t { order, cancel };

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
    /// UINT64_MAX in a free slot.
    std::uint64_t number = UINT64_MAX;
    std::uint32_t account = 0;
    /// False in the warm-up.
    bool is_measured = false;
    Stamps order;
    Stamps cancel;

    Stamps& stamps(MessageKind kind) { return kind == MessageKind::order ? order : cancel; }

    bool is_over() const {
        return order.progress != Progress::in_flight && cancel.progress != Progress::in_flight;
    }
};

/// The orders of the run, in a ring of slots indexed by the order's number.
class InFlight {
public:
    InFlight() : slots_(in_flight_max) {}

    /// The slot for a new order; nullptr if its last order is still unanswered.
    Order* open(std::uint64_t number, std::uint32_t account, bool is_measured) {
        Order& slot = slots_[number % in_flight_max];
        if (!slot.is_over()) {
            return nullptr;
        }
        slot = Order{number, account, is_measured, {}, {}};
        return &slot;
    }

    /// The order with this number; nullptr if its slot has another.
    Order* find(std::uint64_t number) {
        Order& slot = slots_[number % in_flight_max];
        return slot.number == number ? &slot : nullptr;
    }

private:
    std::vector<Order> slots_;
};

} // namespace tickpath
