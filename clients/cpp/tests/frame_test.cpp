// WebSocket frames, against the golden bytes.

#include "frame.hpp"

#include "vectors.hpp"

#include <algorithm>

namespace tickpath::tests {
namespace {

constexpr Mask mask = {0xa1, 0xb2, 0xc3, 0xd4};

/// The messages in `bytes`, which arrive in pieces of that size.
std::vector<std::string> messages(MessageReader& reader, std::string_view bytes, std::size_t piece) {
    std::vector<std::string> found;
    for (std::size_t at = 0; at < bytes.size() && reader.error() == nullptr; at += piece) {
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

TEST(Frames, HaveTheirGoldenBytes) {
    for (const std::string name : {"create_order", "cancel_order"}) {
        std::vector<std::uint8_t> frame;
        append_frame(frame, Opcode::text, vector(name + ".json"), mask);
        EXPECT_EQ(std::string(frame.begin(), frame.end()), vector(name + ".client.frame"));
    }
}

TEST(Frames, MayArriveInPieces) {
    const std::string frames = vector("booked.server.frame") + vector("pong.server.frame") +
                               file(vectors / "odd" / "booked_in_two_fragments.server.frame") +
                               file(vectors / "odd" / "booked_around_a_ping.server.frame");
    const std::string booked = vector("booked.json");
    for (std::size_t piece = 1; piece < frames.size(); piece += 7) {
        MessageReader reader;
        const std::vector<std::string> found = messages(reader, frames, piece);
        ASSERT_EQ(reader.error(), nullptr);
        ASSERT_EQ(found.size(), 5U);
        EXPECT_EQ(found[0], booked);
        EXPECT_EQ(found[2], booked);
        EXPECT_EQ(found[3], "hi");
        EXPECT_EQ(found[4], booked);
    }
}

TEST(Frames, AMessageHasTheStampOfItsFirstByte) {
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

TEST(Frames, BadOnesAreRejected) {
    for (const auto& path : files("bad", ".server.frame")) {
        MessageReader reader;
        messages(reader, file(path), 1);
        EXPECT_NE(reader.error(), nullptr) << path;
    }
    // A message of more than 128 KiB, in one frame or in many.
    MessageReader reader;
    messages(reader, std::string("\x81\x7f\0\0\0\0\0\2\0\1", 10), 10);
    EXPECT_NE(reader.error(), nullptr);
    MessageReader fragments;
    std::string many;
    for (int i = 0; i < 3; ++i) {
        many += std::string(i == 0 ? "\x01" : "\0", 1) + std::string("\x7e\xff\xff", 3) + std::string(65535, 'x');
    }
    messages(fragments, many, 4096);
    EXPECT_NE(fragments.error(), nullptr);
}

} // namespace tickpath::tests
