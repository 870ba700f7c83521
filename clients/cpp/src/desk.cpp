#include "desk.hpp"

#include "error.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace tickpath {
namespace {

/// Limit on unwritten bytes of a lane. Above it messages wait, and are late.
constexpr std::size_t lane_bytes_max = 32 * 1024;
/// Capacity: the limit, the message that passes it, and pongs.
constexpr std::size_t lane_bytes_capacity = lane_bytes_max + 64 * 1024;
/// Limit on unanswered messages of a lane. Their replies stay below the megabyte at which the
/// exchange closes a connection that does not read.
constexpr std::uint32_t lane_unanswered_max = 2048;
/// Time that the exchange may be silent while a reply is outstanding.
constexpr std::uint64_t silence_ns_max = 5'000'000'000;
constexpr std::uint64_t silence_check_ns = 100'000'000;

rusage usage() {
    rusage now{};
    getrusage(RUSAGE_THREAD, &now);
    return now;
}

std::uint64_t faults(const rusage& used) { return static_cast<std::uint64_t>(used.ru_minflt + used.ru_majflt); }

std::string error_of(const Transfer& transfer) {
    return transfer.why != nullptr ? transfer.why : errno_text(transfer.error);
}

} // namespace

Desk::Desk(const Clock& clock, std::unique_ptr<Streams> streams, std::unique_ptr<OrderProtocol> protocol,
           std::size_t lanes, Model model, Recorder& recorder, ProcessorMeter processor)
    : clock_(clock), streams_(std::move(streams)), protocol_(std::move(protocol)), is_open_loop_(model == Model::open),
      recorder_(recorder), lanes_(lanes), processor_(processor) {
    for (Lane& lane : lanes_) {
        lane.bytes.reserve(lane_bytes_capacity);
        lane.unsent.reserve(lane_bytes_max / 64);
    }
    dirty_.reserve(lanes_.size());
    ready_.reserve(2 * lanes_.size() + 1);
    answers_.reserve(4096);
}

void Desk::start_measuring(std::uint64_t now_ns) {
    is_measuring_ = true;
    measured_from_ns_ = now_ns;
    const rusage used = usage();
    switches_before_ = static_cast<std::uint64_t>(used.ru_nivcsw);
    faults_before_ = faults(used);
    processor_.start();
    recorder_.start(now_ns);
}

bool Desk::is_full(std::size_t account) const {
    const Lane& lane = lanes_[lane_of(account)];
    return lane.bytes.size() > lane_bytes_max || lane.unanswered >= lane_unanswered_max;
}

bool Desk::order(std::uint64_t number, std::size_t account, std::uint64_t intended_ns) {
    if (is_full(account)) {
        return false;
    }
    Order* order = in_flight_.open(number, static_cast<std::uint32_t>(account), is_measuring_);
    if (order == nullptr) {
        return false;
    }
    append(*order, MessageKind::order, intended_ns);
    return true;
}

bool Desk::cancel(std::uint64_t number, std::uint64_t intended_ns) {
    Order* order = in_flight_.find(number);
    if (order == nullptr || is_full(order->account)) {
        return false;
    }
    if (order->is_measured && order->order.progress != Progress::answered) {
        ++counters.overtakes;
    }
    append(*order, MessageKind::cancel, intended_ns);
    return true;
}

void Desk::append(Order& order, MessageKind kind, std::uint64_t intended_ns) {
    order.stamps(kind) = {intended_ns, 0, ++sequence_, Progress::in_flight};
    const std::size_t index = lane_of(order.account);
    Lane& lane = lanes_[index];
    const std::size_t length = protocol_->encode(kind, order.number, order.account, lane.bytes);
    lane.unsent.push_back({order.number, kind, lane.bytes.size()});
    if (lane.unanswered++ == 0) {
        lane.quiet_since_ns = clock_.now_ns();
    }
    if (!lane.is_dirty) {
        lane.is_dirty = true;
        dirty_.push_back(index);
    }
    (kind == MessageKind::order ? counters.order : counters.cancel).add(length);
    ++(order.is_measured ? counters.sent : counters.warm_up_sent);
    last_intended_ns_ = intended_ns;
    ++unanswered_;
}

void Desk::flush() {
    while (!dirty_.empty()) {
        const std::size_t lane = dirty_.back();
        dirty_.pop_back();
        lanes_[lane].is_dirty = false;
        // A lane with a full socket is written when the socket takes bytes again.
        if (!lanes_[lane].is_watched && !lanes_[lane].bytes.empty()) {
            flush_lane(lane);
        }
    }
}

/// Stamps SEND, as the contract says: of the write that takes a message's last byte.
void Desk::flush_lane(std::size_t index) {
    Lane& lane = lanes_[index];
    const auto number = static_cast<std::uint32_t>(index);
    const Transfer written = streams_->write(number, lane.bytes.data(), lane.bytes.size());
    if (written.outcome != Transfer::Outcome::bytes) {
        return fail_lane(index, error_of(written));
    }
    std::size_t whole = 0;
    while (whole < lane.unsent.size() && lane.unsent[whole].end <= written.n) {
        ++whole;
    }
    stamp(lane, whole, written.stamp_ns);
    lane.unsent.erase(lane.unsent.begin(), lane.unsent.begin() + static_cast<std::ptrdiff_t>(whole));
    for (UnsentMessage& unsent : lane.unsent) {
        unsent.end -= written.n;
    }
    lane.bytes.erase(lane.bytes.begin(), lane.bytes.begin() + static_cast<std::ptrdiff_t>(written.n));
    if (const bool watch = !lane.bytes.empty(); watch != lane.is_watched) {
        lane.is_watched = watch;
        if (const int error = streams_->watch_writable(number, watch); error != 0) {
            fail_lane(index, errno_text(error));
        }
    }
}

void Desk::stamp(Lane& lane, std::size_t whole, std::uint64_t stamp_ns) {
    for (std::size_t i = 0; i < whole; ++i) {
        const UnsentMessage& unsent = lane.unsent[i];
        Order* order = in_flight_.find(unsent.number);
        if (order == nullptr) {
            continue;
        }
        Stamps& stamps = order->stamps(unsent.kind);
        stamps.sent_ns = stamp_ns;
        if (order->is_measured && is_open_loop_) {
            const std::uint64_t intended_ns = stamps.intended_ns;
            recorder_.record(Series::send_lateness, stamp_ns > intended_ns ? stamp_ns - intended_ns : 0);
        }
    }
    if (whole > 0) {
        last_sent_ns_ = stamp_ns;
    }
}

void Desk::wait(std::uint64_t until_ns) {
    ready_.clear();
    if (const int error = streams_->wait(until_ns, ready_); error != 0) {
        fail("waiting for replies failed: " + errno_text(error));
        is_broken_ = true;
    }
}

void Desk::handle(ReadyLane ready) {
    answers_.clear();
    if (ready.is_writable) {
        flush_lane(ready.lane);
    } else {
        read(ready.lane);
    }
}

/// The backend stamps RECEIVE after its call, as the contract says.
void Desk::read(std::size_t index) {
    Lane& lane = lanes_[index];
    bool has_more = true;
    while (has_more && !is_broken_) {
        const std::span<std::uint8_t> space = protocol_->space(index);
        const Transfer got = streams_->read(static_cast<std::uint32_t>(index), space.data(), space.size());
        has_more = got.has_more;
        switch (got.outcome) {
        case Transfer::Outcome::empty:
            continue;
        case Transfer::Outcome::closed:
            return fail_lane(index, "the other end closed it");
        case Transfer::Outcome::failed:
            return fail_lane(index, error_of(got));
        case Transfer::Outcome::bytes:
            break;
        }
        protocol_->filled(index, got.n, got.stamp_ns);
        lane.quiet_since_ns = got.stamp_ns;
        take_messages(index);
    }
}

void Desk::take_messages(std::size_t index) {
    Lane& lane = lanes_[index];
    const std::size_t unsent_bytes = lane.bytes.size();
    try {
        ReceivedReply reply;
        while (!is_broken_ && protocol_->next(index, reply, lane.bytes)) {
            if (reply.answer) {
                account_for(index, *reply.answer, reply);
            } else {
                ++counters.unexpected;
            }
        }
    } catch (const Error& error) {
        return fail_lane(index, error.what());
    }
    // Send a pong or a heartbeat at once.
    if (lane.bytes.size() > unsent_bytes && !lane.is_watched && !is_broken_) {
        flush_lane(index);
    }
}

void Desk::account_for(std::size_t index, AnswerKind answer, const ReceivedReply& reply) {
    Order* order = in_flight_.find(reply.number);
    if (order == nullptr) {
        ++counters.duplicated;
        return;
    }
    // Replies come in order, so a rejection belongs to the message that was sent first.
    const bool is_order = answer == AnswerKind::order_ack ||
                          (answer == AnswerKind::rejection && order->order.progress == Progress::in_flight);
    const MessageKind kind = is_order ? MessageKind::order : MessageKind::cancel;
    Stamps& stamps = order->stamps(kind);
    if (stamps.progress != Progress::in_flight) {
        ++counters.duplicated;
        return;
    }
    stamps.progress = Progress::answered;
    --unanswered_;
    answers_.push_back({answer, reply.number});
    // On the lane of the request, even if another one carried the reply.
    --lanes_[lane_of(order->account)].unanswered;
    Lane& lane = lanes_[index];
    if (stamps.sequence < lane.answered_sequence) {
        ++counters.out_of_order;
    }
    lane.answered_sequence = std::max(lane.answered_sequence, stamps.sequence);
    if (!order->is_measured) {
        return;
    }
    ++counters.received;
    if (answer == AnswerKind::rejection) {
        ++counters.rejected;
    } else {
        record(kind, *order, reply);
    }
}

void Desk::record(MessageKind kind, const Order& order, const ReceivedReply& reply) {
    const bool is_order = kind == MessageKind::order;
    const Stamps& stamps = is_order ? order.order : order.cancel;
    (is_order ? counters.order_reply : counters.cancel_reply).add(reply.bytes);
    const auto since = [&](std::uint64_t ns) { return reply.first_byte_ns > ns ? reply.first_byte_ns - ns : 0; };
    recorder_.record(is_order ? Series::order_service : Series::cancel_service, since(stamps.sent_ns));
    if (is_open_loop_) {
        recorder_.record(is_order ? Series::order_response : Series::cancel_response, since(stamps.intended_ns));
    } else if (!is_order) {
        recorder_.record(Series::cycle_service, since(order.order.sent_ns));
    }
}

void Desk::fail_lane(std::size_t lane, const std::string& why) {
    is_broken_ = true;
    fail("connection " + std::to_string(lane) + " of " + std::to_string(lanes_.size()) + " ended in mid-run: " + why);
}

void Desk::check_silence(std::uint64_t now_ns) {
    next_silence_check_ns_ = now_ns + silence_check_ns;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const Lane& lane = lanes_[i];
        if (lane.unanswered > 0 && now_ns > lane.quiet_since_ns + silence_ns_max) {
            fail("no reply on connection " + std::to_string(i) + " for 5 s while " +
                 std::to_string(lane.unanswered) +
                 " messages were unanswered there: is the other end still alive?");
            is_broken_ = true;
            return;
        }
    }
}

double Desk::achieved(double offered) const {
    if (!is_measuring_ || counters.sent == 0) {
        return 0;
    }
    const auto since = [&](std::uint64_t ns) {
        return ns > measured_from_ns_ ? static_cast<double>(ns - measured_from_ns_) : 0.0;
    };
    const double gap_ns = 1e9 / offered;
    const double scheduled_ns = since(last_intended_ns_) + gap_ns;
    return offered * scheduled_ns / std::max(since(last_sent_ns_) + gap_ns, scheduled_ns);
}

void Desk::finish() {
    counters.lost = unanswered_;
    if (is_measuring_) {
        const rusage used = usage();
        counters.context_switches_involuntary = static_cast<std::uint64_t>(used.ru_nivcsw) - switches_before_;
        counters.page_faults = faults(used) - faults_before_;
        counters.processor_ns = processor_.used_ns();
    }
    recorder_.finish(clock_.now_ns());
}

} // namespace tickpath
