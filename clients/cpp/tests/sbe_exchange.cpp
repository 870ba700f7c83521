// The scripted exchange in SBE.

#include "exchange.hpp"
#include "sbe_frame.hpp"

#include <tickpath_orders/Booked.h>
#include <tickpath_orders/Done.h>
#include <tickpath_orders/Heartbeat.h>
#include <tickpath_orders/Instrument.h>
#include <tickpath_orders/Logon.h>
#include <tickpath_orders/LogonAccepted.h>
#include <tickpath_orders/Rejected.h>
#include <tickpath_orders/Terminate.h>

namespace tickpath::tests {
namespace {

/// The load's instrument is not the first, so that its number counts.
constexpr const char* codes[] = {"BTC_EUR", "BTC_USDT"};
constexpr std::uint16_t code_count = 2;
constexpr std::uint16_t instrument = 1;

template <typename Codec, typename Set> std::string frame(Set&& set) {
    const std::vector<std::uint8_t> bytes = sbe_frame<Codec>(set);
    return {bytes.begin(), bytes.end()};
}

void set_length(std::string& bytes) {
    write_sbe_frame_head(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size());
}

std::string with_text(std::string bytes, const std::string& text) {
    bytes.push_back(static_cast<char>(text.size()));
    bytes.push_back('\0');
    bytes += text;
    set_length(bytes);
    return bytes;
}

std::string terminate(const std::string& reason) {
    return with_text(frame<orders::Terminate>([](auto&) {}), reason);
}

/// The block of a later version, which has a field at its end.
std::string with_a_later_field(std::string bytes) {
    bytes[sbe_frame_head_bytes] = static_cast<char>(bytes[sbe_frame_head_bytes] + 3);
    bytes += "new";
    set_length(bytes);
    return bytes;
}

std::string accepted() {
    std::string out = frame<orders::LogonAccepted>(
        [](auto& one) { one.session(7).nextSequence(1).heartbeatMs(30'000).instruments(code_count); });
    for (std::uint16_t i = 0; i < code_count; ++i) {
        out += frame<orders::Instrument>([&](auto& one) { one.instrument(i).putCode(std::string_view(codes[i])); });
    }
    return out;
}

} // namespace

/// False if the connection has ended.
bool Exchange::read_sbe(Connection& connection) {
    std::string& bytes = connection.bytes;
    while (bytes.size() >= sbe_block_at) {
        const std::size_t size =
            static_cast<std::size_t>(static_cast<std::uint8_t>(bytes[2]) << 8 | static_cast<std::uint8_t>(bytes[3]));
        if (bytes.size() < size) {
            break;
        }
        const std::string one = bytes.substr(0, size);
        bytes.erase(0, size);
        if (!answer_sbe(connection, one)) {
            return false;
        }
    }
    return true;
}

bool Exchange::answer_sbe(Connection& connection, const std::string& bytes) {
    SbeReader reader;
    std::memcpy(reader.space().data(), bytes.data(), bytes.size());
    reader.filled(bytes.size(), 0);
    SbeMessage message;
    reader.next(message);
    switch (message.template_id) {
    case orders::Logon::SBE_TEMPLATE_ID:
        connection.tokens.emplace_back(message.text());
        send(connection, script_.status.starts_with("101") ? accepted() : terminate(script_.status));
        return script_.status.starts_with("101");
    case orders::Heartbeat::SBE_TEMPLATE_ID:
        ++pongs_;
        return true;
    case orders::NewOrder::SBE_TEMPLATE_ID:
    case orders::CancelOrder::SBE_TEMPLATE_ID: {
        const bool is_order = message.template_id == orders::NewOrder::SBE_TEMPLATE_ID;
        // Both begin with the same fields.
        const auto request = message.as<orders::CancelOrder>();
        const std::uint16_t number =
            is_order ? message.as<orders::NewOrder>().instrument() : request.instrument();
        if (request.sequence() != ++connection.sbe_sequence || number != instrument) {
            send(connection, terminate("a number is not the next, or not that of the instrument"));
            return false;
        }
        if (!take_order(connection, is_order)) {
            return false;
        }
        if (!is_due() || script_.fault != Fault::is_silent) {
            acknowledge_sbe(connection, request.getClientIdAsString(), is_order);
        }
        return true;
    }
    default:
        return false;
    }
}

void Exchange::acknowledge_sbe(const Connection& connection, const std::string& client_id, bool is_order) {
    const auto booked = [](const std::string& id) {
        return frame<orders::Booked>([&](auto& one) { one.instrument(instrument).putClientId(id); });
    };
    std::string reply = is_order ? booked(client_id) : frame<orders::Done>([&](auto& one) {
        one.instrument(instrument).status(orders::DoneStatus::CANCELLED).putClientId(client_id);
    });
    if (is_due() && script_.fault == Fault::sends_malformed_json) {
        reply[sbe_frame_head_bytes] = 20;
    } else if (is_due() && script_.fault == Fault::rejects) {
        reply = with_text(frame<orders::Rejected>([&](auto& one) { one.putClientId(client_id); }), "closed");
    } else if (is_due() && script_.fault == Fault::sends_foreign_replies) {
        std::string later = booked(client_id);
        later[sbe_frame_head_bytes + 2] = 99;
        reply = booked("nobody") + later + reply;
    }
    if (!script_.is_odd) {
        return send(connection, reply);
    }
    const std::vector<std::uint8_t> heartbeat = sbe_heartbeat(1);
    send_in_halves(connection, std::string(heartbeat.begin(), heartbeat.end()) + with_a_later_field(reply));
}

} // namespace tickpath::tests
