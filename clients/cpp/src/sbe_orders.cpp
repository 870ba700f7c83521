#include "error.hpp"
#include "protocol.hpp"
#include "sbe_frame.hpp"

#include <tickpath_orders/Booked.h>
#include <tickpath_orders/Done.h>
#include <tickpath_orders/Heartbeat.h>
#include <tickpath_orders/Instrument.h>
#include <tickpath_orders/LogonAccepted.h>
#include <tickpath_orders/Rejected.h>
#include <tickpath_orders/Terminate.h>

#include <algorithm>

namespace tickpath {
namespace {

constexpr std::size_t heartbeat_sequence_at = sbe_block_at + orders::Heartbeat::nextSequenceEncodingOffset();

/// One connection and its session.
struct Lane {
    SbeReader reader;
    /// The last request's number.
    std::uint64_t sent = 0;
    std::optional<SbeForm> order;
    std::optional<SbeForm> cancel;
};

/// Begins a session, and learns the exchange's instruments: each has a number.
class SbeLogOn {
public:
    SbeLogOn(Link& link, SbeReader& reader) : link_(link), reader_(reader) {}

    std::uint16_t instrument(const std::string& token, const std::string& code) {
        const std::vector<std::uint8_t> logon = sbe_logon(token);
        try {
            link_.write({reinterpret_cast<const char*>(logon.data()), logon.size()}, deadline_);
            while (!is_accepted_ || codes_.size() < instruments_) {
                take(read());
            }
        } catch (const TimedOut&) {
            throw Error("no answer to the SBE logon within 5 s");
        }
        const auto found = std::find(codes_.begin(), codes_.end(), code);
        if (found == codes_.end()) {
            std::string known;
            for (const std::string& one : codes_) {
                known += (known.empty() ? "" : ", ") + one;
            }
            throw Error("the exchange has no instrument " + code + "; it has " + known);
        }
        return static_cast<std::uint16_t>(found - codes_.begin());
    }

private:
    SbeMessage read() {
        SbeMessage message;
        while (!reader_.next(message)) {
            const std::span<std::uint8_t> space = reader_.space();
            const std::size_t n = link_.read(space.data(), space.size(), deadline_);
            if (n == 0) {
                throw Error("the server closed the connection instead of answering the SBE logon: it may not know SBE");
            }
            reader_.filled(n, 0);
        }
        return message;
    }

    void take(const SbeMessage& message) {
        switch (message.template_id) {
        case orders::LogonAccepted::SBE_TEMPLATE_ID:
            instruments_ = message.as<orders::LogonAccepted>().instruments();
            is_accepted_ = true;
            return;
        case orders::Instrument::SBE_TEMPLATE_ID: {
            const orders::Instrument one = message.as<orders::Instrument>();
            codes_.emplace_back(sbe_padded(one.code(), orders::Instrument::codeEncodingLength()));
            return;
        }
        case orders::Terminate::SBE_TEMPLATE_ID:
            throw Error("the exchange answers the logon with: " + std::string(message.text()));
        default:
            throw Error("a message of template " + std::to_string(message.template_id) + " answers the logon");
        }
    }

    Link& link_;
    SbeReader& reader_;
    Deadline deadline_ = step_deadline();
    bool is_accepted_ = false;
    std::size_t instruments_ = 0;
    /// Codes of the instruments by number.
    std::vector<std::string> codes_;
};

class SbeOrders final : public OrderProtocol {
public:
    SbeOrders(const Plan& plan, std::uint32_t nonce) : load_(plan.load), ids_(nonce), lanes_(plan.load.connections) {}

    void log_on(std::size_t lane, Link& link, const std::vector<std::size_t>& accounts) override {
        Lane& one = lanes_[lane];
        // The plan has one account on each connection.
        const std::string token = std::to_string(load_.first_token + accounts.front());
        const std::uint16_t number = SbeLogOn(link, one.reader).instrument(token, load_.instrument);
        one.order = SbeForm::order(load_, number);
        one.cancel = SbeForm::cancel(number);
    }

    std::size_t encode(MessageKind kind, std::uint64_t number, std::size_t account,
                       std::vector<std::uint8_t>& out) override {
        Lane& lane = lanes_[account];
        const SbeForm& form = kind == MessageKind::order ? *lane.order : *lane.cancel;
        const std::size_t start = out.size();
        out.resize(start + form.bytes());
        form.fill(out.data() + start, ids_, ++lane.sent, number);
        return form.bytes();
    }

    std::span<std::uint8_t> space(std::size_t lane) override { return lanes_[lane].reader.space(); }

    void filled(std::size_t lane, std::size_t n, std::uint64_t stamp_ns) override {
        lanes_[lane].reader.filled(n, stamp_ns);
    }

    bool next(std::size_t lane, ReceivedReply& reply, std::vector<std::uint8_t>& out) override {
        SbeMessage message;
        while (lanes_[lane].reader.next(message)) {
            reply = {std::nullopt, 0, message.first_byte_ns, message.frame.size()};
            switch (message.template_id) {
            case orders::Booked::SBE_TEMPLATE_ID:
                answer<orders::Booked>(message, AnswerKind::order_ack, reply);
                return true;
            case orders::Done::SBE_TEMPLATE_ID:
                if (message.as<orders::Done>().statusRaw() == orders::DoneStatus::CANCELLED) {
                    answer<orders::Done>(message, AnswerKind::cancel_ack, reply);
                } else {
                    complain("an order is done that no cancel of ours ended", "");
                }
                return true;
            case orders::Rejected::SBE_TEMPLATE_ID:
                complain("rejected: ", message.text());
                answer<orders::Rejected>(message, AnswerKind::rejection, reply);
                return true;
            case orders::Heartbeat::SBE_TEMPLATE_ID:
                answer_heartbeat(lanes_[lane], out);
                break;
            case orders::Terminate::SBE_TEMPLATE_ID:
                throw Error("the exchange ended the connection: " + std::string(message.text()));
            default:
                complain("a message of an unexpected template: ", std::to_string(message.template_id));
                return true;
            }
        }
        return false;
    }

private:
    template <typename Codec> void answer(const SbeMessage& message, AnswerKind kind, ReceivedReply& reply) {
        const Codec report = message.as<Codec>();
        const std::string_view client_id = sbe_padded(report.clientId(), Codec::clientIdEncodingLength());
        if (const auto number = ids_.number(client_id); number) {
            reply.answer = kind;
            reply.number = *number;
        } else {
            complain("a reply about an order that is not ours: ", client_id);
        }
    }

    /// An exchange that is silent sends a heartbeat, and ends a connection that is silent longer.
    void answer_heartbeat(const Lane& lane, std::vector<std::uint8_t>& out) {
        if (out.size() + heartbeat_.size() > out.capacity()) {
            throw Error("the exchange sends heartbeats, but does not read ours");
        }
        out.insert(out.end(), heartbeat_.begin(), heartbeat_.end());
        const std::uint64_t next = lane.sent + 1;
        std::memcpy(out.data() + out.size() - heartbeat_.size() + heartbeat_sequence_at, &next, sizeof next);
    }

    const Load& load_;
    ClientIds ids_;
    const std::vector<std::uint8_t> heartbeat_ = sbe_heartbeat(0);
    /// By connection, each of which has the account of the same number.
    std::vector<Lane> lanes_;
};

} // namespace

std::unique_ptr<OrderProtocol> open_sbe_orders(const Plan& plan, std::uint32_t nonce) {
    return std::make_unique<SbeOrders>(plan, nonce);
}

} // namespace tickpath
