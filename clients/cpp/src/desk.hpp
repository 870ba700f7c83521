#pragma once

#include "clock.hpp"
#include "in_flight.hpp"
#include "processor.hpp"
#include "protocol.hpp"
#include "recorder.hpp"
#include "streams.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tickpath {

struct Answer {
    AnswerKind kind;
    std::uint64_t number;
};

/// Count and sum of lengths.
struct Lengths {
    std::uint64_t count = 0;
    std::uint64_t sum = 0;

    void add(std::size_t bytes) {
        ++count;
        sum += bytes;
    }
    std::uint64_t mean() const { return count == 0 ? 0 : (sum + count - 1) / count; }
};

/// `load` of the result.
struct Counters {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t out_of_order = 0;
    std::uint64_t overtakes = 0;
    std::uint64_t rejected = 0;
    std::uint64_t unexpected = 0;
    std::uint64_t held_back = 0;
    std::uint64_t warm_up_sent = 0;
    std::uint64_t context_switches_involuntary = 0;
    std::uint64_t page_faults = 0;
    double rate_per_second_achieved = 0;
    /// Processor time of the client and of the exchange; empty where it can't be told.
    std::array<std::optional<std::uint64_t>, 2> processor_ns;
    Lengths order;
    Lengths order_reply;
    Lengths cancel;
    Lengths cancel_reply;
};

/// Connections (lanes), messages in flight and stamps of the client. The load models decide which
/// message is due when; the desk sends, stamps, reads and records.
class Desk {
public:
    /// `streams` has `lanes` lanes, which `protocol` has logged on.
    Desk(const Clock& clock, std::unique_ptr<Streams> streams, std::unique_ptr<OrderProtocol> protocol,
         std::size_t lanes, Model model, Recorder& recorder, ProcessorMeter processor);

    std::uint64_t now_ns() const { return clock_.now_ns(); }

    /// Ends the warm-up: orders from here on are measured.
    void start_measuring(std::uint64_t now_ns);
    bool is_measuring() const { return is_measuring_; }
    std::uint64_t measured_from_ns() const { return measured_from_ns_; }

    /// Appends an order or a cancel to its account's lane; the next `flush` sends it. False if it
    /// must wait.
    bool order(std::uint64_t number, std::size_t account, std::uint64_t intended_ns);
    bool cancel(std::uint64_t number, std::uint64_t intended_ns);

    /// Writes the appended messages, with one call per lane.
    void flush();

    /// Waits as the backend does, and fills `ready`.
    void wait(std::uint64_t until_ns);
    const std::vector<ReadyLane>& ready() const { return ready_; }

    /// Reads or writes one ready lane, and fills `answers`.
    void handle(ReadyLane ready);
    const std::vector<Answer>& answers() const { return answers_; }

    /// Ends the interval if its time is over, and checks for silent connections.
    void keep_time(std::uint64_t now_ns) {
        recorder_.roll(now_ns);
        if (now_ns >= next_silence_check_ns_) {
            check_silence(now_ns);
        }
    }

    void fail(std::string why) {
        if (failure_.empty()) {
            failure_ = std::move(why);
        }
    }
    bool has_failed() const { return !failure_.empty(); }
    const std::string& failure() const { return failure_; }
    /// The first rejection or unexpected message, in words.
    const std::string& complaint() const { return protocol_->complaint(); }
    /// Whether a connection has failed, so that its replies can't arrive.
    bool is_broken() const { return is_broken_; }

    /// The account of an order that is in flight, or the latest in its slot.
    std::size_t account_of(std::uint64_t number) { return in_flight_.find(number)->account; }
    std::uint64_t unanswered() const { return unanswered_; }

    /// Achieved rate: lower than `offered` in proportion if sending took longer than its schedule.
    double achieved(double offered) const;

    /// Ends the last interval.
    void finish();

    Counters counters;

private:
    /// A message that is not written yet, with the offset of its end.
    struct UnsentMessage {
        std::uint64_t number;
        MessageKind kind;
        std::size_t end;
    };

    struct Lane {
        std::vector<std::uint8_t> bytes;
        std::vector<UnsentMessage> unsent;
        bool is_dirty = false;
        bool is_watched = false;
        std::uint32_t unanswered = 0;
        /// Time of the last read with data, or of the first message since all replies had arrived.
        std::uint64_t quiet_since_ns = 0;
        /// The highest sequence number answered so far.
        std::uint64_t answered_sequence = 0;
    };

    std::size_t lane_of(std::size_t account) const { return account % lanes_.size(); }
    bool is_full(std::size_t account) const;
    void append(Order& order, MessageKind kind, std::uint64_t intended_ns);
    void flush_lane(std::size_t lane);
    void stamp(Lane& lane, std::size_t whole, std::uint64_t stamp_ns);
    void read(std::size_t lane);
    void take_messages(std::size_t lane);
    void account_for(std::size_t lane, AnswerKind answer, const ReceivedReply& reply);
    void record(MessageKind kind, const Order& order, const ReceivedReply& reply);
    void fail_lane(std::size_t lane, const std::string& why);
    void check_silence(std::uint64_t now_ns);

    Clock clock_;
    std::unique_ptr<Streams> streams_;
    std::unique_ptr<OrderProtocol> protocol_;
    bool is_open_loop_;
    Recorder& recorder_;
    std::vector<Lane> lanes_;
    std::vector<std::size_t> dirty_;
    std::vector<ReadyLane> ready_;
    std::vector<Answer> answers_;
    InFlight in_flight_;
    std::uint64_t unanswered_ = 0;
    std::uint64_t sequence_ = 0;
    std::uint64_t next_silence_check_ns_ = 0;
    bool is_measuring_ = false;
    std::uint64_t measured_from_ns_ = 0;
    std::uint64_t last_sent_ns_ = 0;
    std::uint64_t last_intended_ns_ = 0;
    ProcessorMeter processor_;
    std::uint64_t switches_before_ = 0;
    std::uint64_t faults_before_ = 0;
    std::string failure_;
    bool is_broken_ = false;
};

} // namespace tickpath
