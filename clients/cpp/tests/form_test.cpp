// Orders, cancels and client ids, against the golden bytes.

#include "form.hpp"

#include "vectors.hpp"

#include <algorithm>

namespace tickpath::tests {
namespace {

constexpr std::string_view id = "6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60";
/// A run makes other ids than the files have: its prefix and its number.
constexpr std::string_view own_id = "6f1c2a9e-0000-4000-8000-00000000002a";
constexpr std::uint32_t nonce = 0x6f1c2a9e;
constexpr std::uint64_t number = 42;
constexpr Mask mask = {0xa1, 0xb2, 0xc3, 0xd4};

Load load(std::string instrument, std::string side, std::string price, std::string amount) {
    Load out;
    out.instrument = std::move(instrument);
    out.side = std::move(side);
    out.price = std::move(price);
    out.amount = std::move(amount);
    return out;
}

/// Replaces the run's client id in `text` with that of the files.
std::string with_golden_id(std::string text) {
    const std::size_t at = text.find(own_id);
    return at == std::string::npos ? text : text.replace(at, own_id.size(), id);
}

/// The text that a form writes, unmasked, with the golden id.
std::string filled(const Form& form) {
    std::vector<std::uint8_t> out(form.bytes_max());
    out.resize(form.fill(out.data(), ClientIds(nonce), number, mask));
    const std::size_t header = form.json().size() < 126 ? 6 : 8;
    EXPECT_EQ(out[0], 0x81);
    EXPECT_TRUE(std::equal(mask.begin(), mask.end(), out.begin() + static_cast<std::ptrdiff_t>(header) - 4));
    apply_mask(out.data() + header, out.size() - header, mask);
    return with_golden_id(std::string(out.begin() + static_cast<std::ptrdiff_t>(header), out.end()));
}

} // namespace

TEST(Forms, OrdersAndCancelsHaveTheirGoldenBytes) {
    const Load plain = load("BTC_USDT", "BUY", "1", "1");
    EXPECT_EQ(filled(Form::order(plain, {})), vector("create_order.json"));
    EXPECT_EQ(filled(Form::cancel(plain, {})), vector("cancel_order.json"));
    const Load other = load("BTC_EUR", "SELL", "64250.5", "0.025");
    EXPECT_EQ(filled(Form::order(other, "3002", "IMMEDIATE_OR_CANCELLED")), vector("create_order_ioc_account.json"));
    EXPECT_EQ(filled(Form::cancel(other, "3002")), vector("cancel_order_account.json"));
}

TEST(ClientIds, HaveTheOrdersNumber) {
    const ClientIds ids(nonce);
    for (const std::uint64_t one : {std::uint64_t{0}, number, (std::uint64_t{1} << 48) - 1}) {
        std::string text(client_id_bytes, ' ');
        ids.write(one, reinterpret_cast<std::uint8_t*>(text.data()));
        EXPECT_EQ(ids.number(text), one);
        text[0] = '0';
        EXPECT_FALSE(ids.number(text)) << "an id of another run";
    }
    EXPECT_FALSE(ids.number("6f1c2a9e-0000-4000-8000-00000000002g"));
    EXPECT_FALSE(ids.number(""));
}

} // namespace tickpath::tests
