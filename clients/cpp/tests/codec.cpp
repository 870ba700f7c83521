// Every message that the client writes or reads, held against the golden bytes.

#include "form.hpp"
#include "frame.hpp"
#include "reply.hpp"
#include "session.hpp"
#include "vectors.hpp"

#include <algorithm>

namespace tickpath::tests {
namespace {

constexpr std::string_view id = "6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60";
/// The ids of a run can't be those of the files: its prefix and its number are the run's.
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

/// `text` with the id of a file instead of ours.
std::string with_golden_id(std::string text) {
    const std::size_t at = text.find(own_id);
    return at == std::string::npos ? text : text.replace(at, own_id.size(), id);
}

/// What a form writes, unmasked again and with the golden id.
std::string filled(const Form& form) {
    std::vector<std::uint8_t> out(form.bytes_max());
    out.resize(form.fill(out.data(), ClientIds(nonce), number, mask));
    const std::size_t header = form.json().size() < 126 ? 6 : 8;
    EXPECT_EQ(out[0], 0x81);
    EXPECT_TRUE(std::equal(mask.begin(), mask.end(), out.begin() + static_cast<std::ptrdiff_t>(header) - 4));
    apply_mask(out.data() + header, out.size() - header, mask);
    return with_golden_id(std::string(out.begin() + static_cast<std::ptrdiff_t>(header), out.end()));
}

Reply decoded(std::string_view text) {
    Reply reply;
    EXPECT_EQ(decode_reply(text, reply), nullptr) << text;
    return reply;
}

/// The messages in these bytes, read in pieces of that size.
std::vector<std::string> messages(MessageReader& reader, std::string_view bytes, std::size_t piece) {
    std::vector<std::string> found;
    for (std::size_t at = 0; at < bytes.size() && reader.wrong() == nullptr; at += piece) {
        const std::string_view part = bytes.substr(at, piece);
        std::copy(part.begin(), part.end(), reader.space());
        reader.filled(part.size(), at + 1);
        Message message;
        while (reader.next(message)) {
            found.emplace_back(message.payload);
        }
    }
    return found;
}

} // namespace

TEST(Encoder, OrdersAndCancelsHaveTheirGoldenBytes) {
    const Load plain = load("BTC_USDT", "BUY", "1", "1");
    EXPECT_EQ(filled(Form::order(plain, {})), vector("create_order.json"));
    EXPECT_EQ(filled(Form::cancel(plain, {})), vector("cancel_order.json"));
    const Load other = load("BTC_EUR", "SELL", "64250.5", "0.025");
    EXPECT_EQ(filled(Form::order(other, "3002", "IMMEDIATE_OR_CANCELLED")), vector("create_order_ioc_account.json"));
    EXPECT_EQ(filled(Form::cancel(other, "3002")), vector("cancel_order_account.json"));
}

TEST(Encoder, FramesHaveTheirGoldenBytes) {
    for (const std::string name : {"create_order", "cancel_order"}) {
        std::vector<std::uint8_t> frame;
        append_frame(frame, Opcode::text, vector(name + ".json"), mask);
        EXPECT_EQ(std::string(frame.begin(), frame.end()), vector(name + ".client.frame"));
    }
    EXPECT_EQ(upgrade_request("127.0.0.1:8888", "dGhlIHNhbXBsZSBub25jZQ=="), vector("upgrade_request.http"));
}

TEST(Encoder, AnIdLeadsBackToItsNumber) {
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

TEST(Decoder, RepliesAreWhatTheyAre) {
    const std::pair<const char*, ReplyKind> expected[] = {
        {"booked.json", ReplyKind::booked},
        {"booked_stamps.json", ReplyKind::booked},
        {"done_cancelled.json", ReplyKind::cancelled},
        {"done_filled.json", ReplyKind::other},
        {"done_expired.json", ReplyKind::other},
        {"rejected.json", ReplyKind::rejected},
        {"fill.json", ReplyKind::other},
        {"waiting.json", ReplyKind::other},
    };
    for (const auto& [name, kind] : expected) {
        const std::string text = vector(name);
        const Reply reply = decoded(text);
        EXPECT_EQ(reply.kind, kind) << name;
        EXPECT_EQ(reply.client_id, id) << name;
    }
    EXPECT_EQ(decoded(vector("authenticated.json")).kind, ReplyKind::authenticated);
    EXPECT_EQ(decoded(vector("subscriptions.json")).kind, ReplyKind::subscriptions);
    EXPECT_EQ(decoded(vector("error.json")).kind, ReplyKind::error);
    EXPECT_EQ(decoded(R"({"type":"LATER"})").kind, ReplyKind::other);
    EXPECT_EQ(decoded(R"({"type":"LATER","reason":null})").kind, ReplyKind::other);
}

TEST(Decoder, BadRepliesAreRejected) {
    for (const auto& path : files("bad", ".json")) {
        Reply reply;
        EXPECT_NE(decode_reply(file(path), reply), nullptr) << path;
    }
    // Cut off anywhere, a reply is none, and nothing past its end is read.
    const std::string whole = vector("booked.json");
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::vector<char> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        Reply reply;
        EXPECT_NE(decode_reply({part.data(), part.size()}, reply), nullptr) << length;
    }
    Reply reply;
    const std::string deep = R"({"type":"X","a":)" + std::string(100, '[') + std::string(100, ']') + "}";
    EXPECT_NE(decode_reply(deep, reply), nullptr);
}

TEST(Decoder, OddRepliesAreAccepted) {
    for (const auto& path : files("odd", ".json")) {
        const std::string text = file(path);
        const Reply reply = decoded(text);
        EXPECT_EQ(reply.kind, ReplyKind::booked) << path;
        EXPECT_EQ(reply.client_id, id) << path;
    }
}

TEST(Decoder, FramesMayComeInPieces) {
    const std::string frames = vector("booked.server.frame") + vector("pong.server.frame") +
                               file(vectors / "odd" / "booked_in_two_fragments.server.frame") +
                               file(vectors / "odd" / "booked_around_a_ping.server.frame");
    const std::string booked = vector("booked.json");
    for (std::size_t piece = 1; piece < frames.size(); piece += 7) {
        MessageReader reader;
        const std::vector<std::string> found = messages(reader, frames, piece);
        ASSERT_EQ(reader.wrong(), nullptr);
        ASSERT_EQ(found.size(), 5U);
        EXPECT_EQ(found[0], booked);
        EXPECT_EQ(found[2], booked);
        EXPECT_EQ(found[3], "hi");
        EXPECT_EQ(found[4], booked);
    }
}

TEST(Decoder, AMessageHasTheStampOfItsFirstByte) {
    const std::string frame = vector("booked.server.frame");
    const std::string bytes = frame + frame;
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        MessageReader reader;
        std::vector<std::uint64_t> stamps;
        for (const auto& [part, stamp_ns] : {std::pair(bytes.substr(0, cut), 100), std::pair(bytes.substr(cut), 200)}) {
            std::copy(part.begin(), part.end(), reader.space());
            reader.filled(part.size(), static_cast<std::uint64_t>(stamp_ns));
            Message message;
            while (reader.next(message)) {
                stamps.push_back(message.first_byte_ns);
            }
        }
        const std::uint64_t second = cut > frame.size() ? 100 : 200;
        EXPECT_EQ(stamps, (std::vector<std::uint64_t>{100, second})) << cut;
    }
}

TEST(Decoder, BadFramesAreRejected) {
    for (const auto& path : files("bad", ".server.frame")) {
        MessageReader reader;
        messages(reader, file(path), 1);
        EXPECT_NE(reader.wrong(), nullptr) << path;
    }
    // A message of more than 128 KiB, in one frame or in many.
    MessageReader reader;
    messages(reader, std::string("\x81\x7f\0\0\0\0\0\2\0\1", 10), 10);
    EXPECT_NE(reader.wrong(), nullptr);
    MessageReader fragments;
    std::string many;
    for (int i = 0; i < 3; ++i) {
        many += std::string(i == 0 ? "\x01" : "\0", 1) + std::string("\x7e\xff\xff", 3) + std::string(65535, 'x');
    }
    messages(fragments, many, 4096);
    EXPECT_NE(fragments.wrong(), nullptr);
}

TEST(Decoder, TheHandshakeIsChecked) {
    const std::string good = vector("upgrade_response.http");
    const std::string key = "dGhlIHNhbXBsZSBub25jZQ==";
    check_upgrade_response(good, key);
    for (const auto& [from, to] : {std::pair("101", "503"), std::pair("HTTP", "SMTP"), std::pair("s3pPLM", "s3pPLN"),
                                   std::pair("Upgrade: websocket", "Upgrade: other"),
                                   std::pair("Connection: Upgrade", "Connection: close")}) {
        std::string bad = good;
        bad.replace(bad.find(from), std::string(from).size(), to);
        EXPECT_THROW(check_upgrade_response(bad, key), std::exception) << to;
    }
    EXPECT_THROW(check_upgrade_response("", key), std::exception);
}

} // namespace tickpath::tests
