#include "error.hpp"
#include "form.hpp"
#include "frame.hpp"
#include "protocol.hpp"
#include "reply.hpp"
#include "schedule.hpp"
#include "session.hpp"

namespace tickpath {
namespace {

/// The messages of one account.
struct Forms {
    Form order;
    Form cancel;
};

Mask mask_of(std::uint64_t bits) {
    Mask mask;
    std::memcpy(mask.data(), &bits, mask.size());
    return mask;
}

class WebOrders final : public OrderProtocol {
public:
    WebOrders(const Plan& plan, std::uint32_t nonce)
        : plan_(plan), nonce_(nonce), ids_(nonce), masks_(nonce), readers_(plan.load.connections),
          forms_(plan.load.accounts, {Form::order(plan.load, {}), Form::cancel(plan.load, {})}) {}

    void log_on(std::size_t lane, Link& link, const std::vector<std::size_t>& accounts) override {
        std::vector<std::uint64_t> tokens;
        for (const std::size_t account : accounts) {
            tokens.push_back(plan_.load.first_token + account);
        }
        LogOn log_on(link, readers_[lane], std::uint64_t{nonce_} << 32 | lane);
        log_on.upgrade(plan_.target);
        const std::vector<std::string> names = log_on.authenticate(tokens);
        for (std::size_t i = 0; accounts.size() > 1 && i < accounts.size(); ++i) {
            forms_[accounts[i]] = {Form::order(plan_.load, names[i]), Form::cancel(plan_.load, names[i])};
        }
    }

    std::size_t encode(MessageKind kind, std::uint64_t number, std::size_t account,
                       std::vector<std::uint8_t>& out) override {
        const Forms& forms = forms_[account];
        const Form& form = kind == MessageKind::order ? forms.order : forms.cancel;
        const std::size_t start = out.size();
        out.resize(start + form.bytes_max());
        const std::size_t length = form.fill(out.data() + start, ids_, number, mask_of(masks_.bits()));
        out.resize(start + length);
        return length;
    }

    std::span<std::uint8_t> space(std::size_t lane) override {
        std::uint8_t* space = readers_[lane].space();
        return {space, readers_[lane].space_bytes()};
    }

    void filled(std::size_t lane, std::size_t n, std::uint64_t stamp_ns) override {
        readers_[lane].filled(n, stamp_ns);
    }

    bool next(std::size_t lane, ReceivedReply& reply, std::vector<std::uint8_t>& out) override {
        MessageReader& reader = readers_[lane];
        Message message;
        while (reader.next(message)) {
            if (take(message, reply, out)) {
                return true;
            }
        }
        if (reader.error() != nullptr) {
            throw Error(reader.error());
        }
        return false;
    }

private:
    /// False for a message that the load doesn't see.
    bool take(const Message& message, ReceivedReply& reply, std::vector<std::uint8_t>& out) {
        switch (message.opcode) {
        case Opcode::text:
            return take_text(message, reply);
        case Opcode::ping:
            if (out.size() + message.payload.size() + frame_header_bytes_max > out.capacity()) {
                throw Error("the exchange sends pings, but does not read our pongs");
            }
            append_frame(out, Opcode::pong, message.payload, mask_of(masks_.bits()));
            return false;
        case Opcode::close:
            throw Error("the exchange closed it: " +
                        std::string(message.payload.size() > 2 ? message.payload.substr(2) : ""));
        case Opcode::binary:
            complain("a binary message", "");
            reply = {std::nullopt, 0, message.first_byte_ns, message.payload.size()};
            return true;
        default:
            return false;
        }
    }

    bool take_text(const Message& message, ReceivedReply& reply) {
        if (const char* wrong = decode_reply(message.payload, decoded_); wrong != nullptr) {
            throw Error(std::string("unreadable reply: ") + wrong);
        }
        // A server's frame header has 2 bytes, or 4 from 126 bytes on.
        const std::size_t header = message.payload.size() < 126 ? 2 : 4;
        reply = {AnswerKind::rejection, 0, message.first_byte_ns, message.payload.size() + header};
        switch (decoded_.kind) {
        case ReplyKind::booked:
            reply.answer = AnswerKind::order_ack;
            break;
        case ReplyKind::cancelled:
            reply.answer = AnswerKind::cancel_ack;
            break;
        case ReplyKind::rejected:
            complain("rejected: ", decoded_.reason);
            break;
        case ReplyKind::authenticated:
        case ReplyKind::subscriptions:
            return false;
        default:
            reply.answer.reset();
            complain("a message of an unexpected type: ", message.payload.substr(0, 300));
            return true;
        }
        if (const auto number = ids_.number(decoded_.client_id); number) {
            reply.number = *number;
        } else {
            reply.answer.reset();
            complain("a reply about an order that is not ours: ", decoded_.client_id);
        }
        return true;
    }

    const Plan& plan_;
    std::uint32_t nonce_;
    ClientIds ids_;
    SplitMix64 masks_;
    std::vector<MessageReader> readers_;
    std::vector<Forms> forms_;
    Reply decoded_;
};

} // namespace

std::unique_ptr<OrderProtocol> open_web_orders(const Plan& plan, std::uint32_t nonce) {
    return std::make_unique<WebOrders>(plan, nonce);
}

} // namespace tickpath
