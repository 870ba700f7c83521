#include "load.hpp"

#include <algorithm>

namespace tickpath {
namespace {

/// One message in flight per account: order, ack, cancel at once, its ack, the next order.
class PingPong {
public:
    explicit PingPong(Desk& desk) : desk_(desk) {}

    void begin(std::size_t account) {
        if (!desk_.order(next_number_, account, desk_.now_ns())) {
            desk_.fail("order " + std::to_string(next_number_) +
                       " has to wait for an older one that is still unanswered: replies are lost");
        }
        ++next_number_;
    }

    /// Sends the message that follows an answer.
    void take(Answer answer, bool continues) {
        if (answer.kind == AnswerKind::order_ack) {
            if (!desk_.cancel(answer.number, desk_.now_ns())) {
                desk_.fail("the connection is too full for the cancel of order " + std::to_string(answer.number));
            }
        } else if (continues) {
            begin(desk_.account_of(answer.number));
        }
    }

private:
    Desk& desk_;
    std::uint64_t next_number_ = 0;
};

} // namespace

bool run_ping_pong(Desk& desk, const Plan& plan, const Stop& stop) {
    const std::uint64_t start_ns = desk.now_ns();
    const std::uint64_t measure_at_ns = start_ns + static_cast<std::uint64_t>(plan.warm_up_seconds * 1e9);
    const std::uint64_t end_ns = measure_at_ns + static_cast<std::uint64_t>(plan.seconds * 1e9);
    PingPong ping_pong(desk);
    for (std::size_t account = 0; account < plan.load.accounts; ++account) {
        ping_pong.begin(account);
    }
    desk.flush();
    std::uint64_t now_ns = start_ns;
    std::uint64_t drained_at_ns = end_ns + drain_ns;
    // Every account ends its last cycle, so that the book is empty again.
    while (desk.unanswered() > 0 && !desk.has_failed() && now_ns < drained_at_ns) {
        const bool is_stopped = stop.load(std::memory_order_relaxed);
        if (is_stopped) {
            drained_at_ns = std::min(drained_at_ns, now_ns + drain_ns);
        }
        const bool continues = now_ns < end_ns && !is_stopped;
        desk.wait(now_ns + wait_ns_max);
        for (const ReadyLane ready : desk.ready()) {
            desk.handle(ready);
            for (const Answer answer : desk.answers()) {
                ping_pong.take(answer, continues);
            }
            desk.flush();
        }
        now_ns = desk.now_ns();
        if (now_ns >= measure_at_ns && !desk.is_measuring()) {
            desk.start_measuring(now_ns);
        }
        desk.keep_time(now_ns);
    }
    if (desk.is_measuring() && now_ns > desk.measured_from_ns()) {
        const double measured_seconds = static_cast<double>(now_ns - desk.measured_from_ns()) / 1e9;
        desk.counters.rate_per_second_achieved = static_cast<double>(desk.counters.sent) / measured_seconds;
    }
    return now_ns >= end_ns && !desk.has_failed();
}

} // namespace tickpath
