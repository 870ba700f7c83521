#pragma once

#include "connection.hpp"
#include "in_flight.hpp"
#include "plan.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tickpath {

/// The kinds of reply to a message of an order.
enum class AnswerKind : std::uint8_t { order_ack, cancel_ack, rejection };

/// A message from the exchange.
struct ReceivedReply {
    /// nullopt: it is unexpected, and answers no order of this run.
    std::optional<AnswerKind> answer;
    /// The order's number, of an answer.
    std::uint64_t number = 0;
    /// The stamp of the read that returned its first byte.
    std::uint64_t first_byte_ns = 0;
    /// Its length on the stream.
    std::size_t bytes = 0;
};

/// Orders in one dialect, on all lanes of a run.
class OrderProtocol {
public:
    OrderProtocol() = default;
    OrderProtocol(const OrderProtocol&) = delete;
    OrderProtocol& operator=(const OrderProtocol&) = delete;
    virtual ~OrderProtocol() = default;

    /// Logs the accounts of a lane on. Bytes that follow stay for `next`.
    virtual void log_on(std::size_t lane, Link& link, const std::vector<std::size_t>& accounts) = 0;

    /// Appends a message of order `number` to `out`. Returns its length.
    virtual std::size_t encode(MessageKind kind, std::uint64_t number, std::size_t account,
                               std::vector<std::uint8_t>& out) = 0;

    /// The space for a lane's next read, and the bytes that it got. Take all messages before the
    /// next read, so that every stamp is exact.
    virtual std::span<std::uint8_t> space(std::size_t lane) = 0;
    virtual void filled(std::size_t lane, std::size_t n, std::uint64_t stamp_ns) = 0;

    /// Takes the next complete message; false if more bytes are needed. Appends what the dialect
    /// must answer at once (a pong, a heartbeat) to `out`. Throws Error if the stream is unusable.
    virtual bool next(std::size_t lane, ReceivedReply& reply, std::vector<std::uint8_t>& out) = 0;

    /// The first rejection or unexpected message, in words.
    const std::string& complaint() const { return complaint_; }

protected:
    void complain(std::string_view what, std::string_view detail) {
        if (complaint_.empty()) {
            complaint_ = std::string(what) + std::string(detail);
        }
    }

private:
    std::string complaint_;
};

/// JSON over WebSocket (docs/internals/wire.md).
std::unique_ptr<OrderProtocol> open_web_orders(const Plan& plan, std::uint32_t nonce);

/// SBE, with a session for each connection (docs/internals/sbe.md).
std::unique_ptr<OrderProtocol> open_sbe_orders(const Plan& plan, std::uint32_t nonce);

} // namespace tickpath
