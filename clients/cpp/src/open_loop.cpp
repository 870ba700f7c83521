#include "load.hpp"
#include "schedule.hpp"

#include <algorithm>

namespace tickpath {
namespace {

/// Time limit for sending after the end of the schedule.
constexpr std::uint64_t overrun_ns_max = 1'000'000'000;
/// Time between the set-up and the first message.
constexpr std::uint64_t lead_ns = 1'000'000;
/// Reads between two checks of the schedule if many lanes are ready.
constexpr std::size_t reads_between_checks = 4;
/// Within this time before a message is due, and this share of the mean gap, the pacer makes no
/// system call: it encodes the message and spins on the clock.
constexpr double guard_ns_max = 1'000;
constexpr double guard_share_of_gap = 0.01;

/// The messages of the run in order: `cancel_after` orders, their cancels, the next orders. Only
/// the schedule decides when a message is due; a late one does not shift the others.
class Agenda {
public:
    Agenda(const Plan& plan, std::uint64_t start_ns)
        : schedule_(plan.load), start_ns_(start_ns), cancel_after_(plan.load.cancel_after),
          accounts_(plan.load.accounts), warm_up_messages_(plan.load.messages(plan.warm_up_seconds)),
          messages_(warm_up_messages_ + plan.load.messages(plan.seconds)),
          guard_ns_(static_cast<std::uint64_t>(
              std::min(1e9 / plan.load.rate_per_second * guard_share_of_gap, guard_ns_max))) {}

    bool is_over() const { return schedule_.index() >= messages_; }

    std::uint64_t intended_ns() const { return start_ns_ + schedule_.offset_ns(); }

    /// Appends every message that is due or nearly due, and writes them when they are due.
    void send_due(Desk& desk) {
        const std::uint64_t horizon_ns = desk.now_ns() + guard_ns_;
        std::uint64_t due_ns = intended_ns();
        if (due_ns > horizon_ns || is_over()) {
            return;
        }
        while (!is_over() && intended_ns() <= horizon_ns) {
            due_ns = intended_ns();
            if (!append(desk, due_ns)) {
                // Each message counts once, even if it is tried again.
                desk.counters.held_back += held_back_ == schedule_.index() ? 0 : 1;
                held_back_ = schedule_.index();
                break;
            }
            schedule_.advance();
        }
        // This takes at most `guard_ns_`.
        while (desk.now_ns() < due_ns) {
        }
        desk.flush();
    }

    /// Cancels the orders that an interrupted run left in the book.
    void wind_up(Desk& desk) const {
        const std::uint64_t position = schedule_.index() % (2 * cancel_after_);
        const std::uint64_t first = first_of_block();
        const std::uint64_t ordered = std::min(position, cancel_after_);
        const std::uint64_t cancelled = position > cancel_after_ ? position - cancel_after_ : 0;
        for (std::uint64_t number = first + cancelled; number < first + ordered; ++number) {
            // If the lane is full, the order stays and counts as one without a cancel.
            desk.cancel(number, desk.now_ns());
        }
    }

    std::string overrun() const {
        return std::to_string(schedule_.index()) + " of " + std::to_string(messages_) +
               " messages were sent 1 s after the end of the schedule: the load is more than this client and "
               "that exchange can take; lower load.rate_per_second";
    }

private:
    std::uint64_t first_of_block() const { return schedule_.index() / (2 * cancel_after_) * cancel_after_; }

    bool append(Desk& desk, std::uint64_t intended) const {
        const std::uint64_t index = schedule_.index();
        if (index == warm_up_messages_ && !desk.is_measuring()) {
            desk.start_measuring(intended);
        }
        const std::uint64_t position = index % (2 * cancel_after_);
        const std::uint64_t first = first_of_block();
        if (position < cancel_after_) {
            const std::uint64_t number = first + position;
            return desk.order(number, static_cast<std::size_t>(number % accounts_), intended);
        }
        return desk.cancel(first + position - cancel_after_, intended);
    }

    Schedule schedule_;
    std::uint64_t start_ns_;
    std::uint64_t cancel_after_;
    std::uint64_t accounts_;
    std::uint64_t warm_up_messages_;
    std::uint64_t messages_;
    std::uint64_t guard_ns_;
    /// The latest message that was held back.
    std::uint64_t held_back_ = UINT64_MAX;
};

/// Waits for outstanding replies.
void drain(Desk& desk) {
    const std::uint64_t until_ns = desk.now_ns() + drain_ns;
    while (desk.unanswered() > 0 && !desk.is_broken() && desk.now_ns() < until_ns) {
        desk.flush();
        desk.wait(until_ns);
        for (const ReadyLane ready : desk.ready()) {
            desk.handle(ready);
        }
    }
}

} // namespace

bool run_open_loop(Desk& desk, const Plan& plan, const Stop& stop) {
    const std::uint64_t start_ns = desk.now_ns() + lead_ns;
    Agenda agenda(plan, start_ns);
    const double planned_ns = (plan.warm_up_seconds + plan.seconds) * 1e9;
    const std::uint64_t end_ns = start_ns + static_cast<std::uint64_t>(planned_ns) + overrun_ns_max;
    while (!agenda.is_over() && !desk.has_failed() && !stop.load(std::memory_order_relaxed)) {
        agenda.send_due(desk);
        const std::uint64_t now_ns = desk.now_ns();
        if (now_ns > end_ns && agenda.intended_ns() < now_ns) {
            desk.fail(agenda.overrun());
        }
        desk.wait(std::min(agenda.intended_ns(), now_ns + wait_ns_max));
        for (std::size_t i = 0; i < desk.ready().size(); ++i) {
            desk.handle(desk.ready()[i]);
            if ((i + 1) % reads_between_checks == 0) {
                agenda.send_due(desk);
            }
        }
        desk.keep_time(now_ns);
    }
    desk.counters.rate_per_second_achieved = desk.achieved(plan.load.rate_per_second);
    const bool is_complete = agenda.is_over() && !desk.has_failed();
    agenda.wind_up(desk);
    drain(desk);
    return is_complete;
}

} // namespace tickpath
