#include "form.hpp"

#include "json.hpp"

#include <charconv>
#include <cstdio>

namespace tickpath {
namespace {

constexpr std::size_t number_at = 24;
/// Placeholder of the client id.
constexpr std::string_view placeholder = "00000000-0000-4000-8000-000000000000";

Form with_id(std::string json) {
    const std::size_t at = json.find(placeholder);
    return {std::move(json), at};
}

std::string quoted(const std::string& text) { return line_of(Json(text)); }

std::string account_of(const std::optional<std::string>& account_id) {
    return account_id ? ",\"account_id\":" + quoted(*account_id) : "";
}

} // namespace

ClientIds::ClientIds(std::uint32_t nonce) {
    char text[number_at + 1];
    std::snprintf(text, sizeof text, "%08x-0000-4000-8000-", nonce);
    prefix_ = text;
}

void ClientIds::write(std::uint64_t number, std::uint8_t* out) const {
    static constexpr char digits[] = "0123456789abcdef";
    std::memcpy(out, prefix_.data(), number_at);
    for (std::size_t i = client_id_bytes; i > number_at; --i) {
        out[i - 1] = static_cast<std::uint8_t>(digits[number & 15]);
        number >>= 4;
    }
}

std::optional<std::uint64_t> ClientIds::number(std::string_view client_id) const {
    if (client_id.size() != client_id_bytes || client_id.substr(0, number_at) != prefix_) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    const char* end = client_id.data() + client_id_bytes;
    const auto read = std::from_chars(client_id.data() + number_at, end, value, 16);
    return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

Form Form::order(const Load& load, const std::optional<std::string>& account_id, const char* time_in_force) {
    std::string json = R"({"type":"CREATE_ORDER","order":{"instrument_code":)" + quoted(load.instrument) +
                       R"(,"client_id":")" + std::string(placeholder) + R"(","side":")" + load.side +
                       R"(","type":"LIMIT","price":")" + load.price + R"(","amount":")" + load.amount +
                       R"(","time_in_force":")" + time_in_force + R"("})" + account_of(account_id) + "}";
    return with_id(std::move(json));
}

Form Form::cancel(const Load& load, const std::optional<std::string>& account_id) {
    std::string json = R"({"type":"CANCEL_ORDER","client_id":")" + std::string(placeholder) +
                       R"(","instrument_code":)" + quoted(load.instrument) + account_of(account_id) + "}";
    return with_id(std::move(json));
}

} // namespace tickpath
