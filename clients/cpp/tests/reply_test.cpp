// Replies, golden and bad.

#include "reply.hpp"

#include "vectors.hpp"

namespace tickpath::tests {
namespace {

constexpr std::string_view id = "6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60";

Reply decoded(std::string_view text) {
    Reply reply;
    EXPECT_EQ(decode_reply(text, reply), nullptr) << text;
    return reply;
}

} // namespace

TEST(Replies, HaveTheirKinds) {
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

TEST(Replies, BadOnesAreRejected) {
    for (const auto& path : files("bad", ".json")) {
        Reply reply;
        EXPECT_NE(decode_reply(file(path), reply), nullptr) << path;
    }
    // A reply that is cut off anywhere is rejected, and nothing past its end is read.
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

TEST(Replies, OddOnesAreAccepted) {
    for (const auto& path : files("odd", ".json")) {
        const std::string text = file(path);
        const Reply reply = decoded(text);
        EXPECT_EQ(reply.kind, ReplyKind::booked) << path;
        EXPECT_EQ(reply.client_id, id) << path;
    }
}

} // namespace tickpath::tests
