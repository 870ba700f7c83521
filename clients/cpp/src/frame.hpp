#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace tickpath {

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

using Mask = std::array<std::uint8_t, 4>;

/// The longest header of a client's frame.
constexpr std::size_t frame_header_bytes_max = 14;
/// The longest message that a client reads, and about the size of its buffer.
constexpr std::size_t message_bytes_max = 128 * 1024;

/// Writes the header of a final masked frame; returns its length.
std::size_t write_header(std::uint8_t* out, Opcode opcode, std::size_t payload_bytes, Mask mask);

/// Masks in place, eight bytes at a time.
inline void apply_mask(std::uint8_t* payload, std::size_t size, Mask mask) {
    std::uint32_t four = 0;
    std::memcpy(&four, mask.data(), 4);
    const std::uint64_t eight = std::uint64_t{four} << 32 | four;
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, payload + i, 8);
        word ^= eight;
        std::memcpy(payload + i, &word, 8);
    }
    for (; i < size; ++i) {
        payload[i] = static_cast<std::uint8_t>(payload[i] ^ mask[i % 4]);
    }
}

/// Appends a final masked frame.
void append_frame(std::vector<std::uint8_t>& out, Opcode opcode, std::string_view payload, Mask mask);

/// A complete message, in the reader's buffer.
struct Message {
    Opcode opcode = Opcode::text;
    std::string_view payload;
    /// The stamp of the read that returned its first byte.
    std::uint64_t first_byte_ns = 0;
};

/// Finds messages in a server's bytes, without a copy unless they are fragmented. Take all messages
/// before the next `filled`, so that every stamp is exact.
class MessageReader {
public:
    MessageReader();

    /// The space for the next read; at least 4 KiB after `next` returned false.
    std::uint8_t* space();
    std::size_t space_bytes() const { return buffer_.size() - end_; }

    /// Adds `n` bytes in that space, from a read that returned at `stamp_ns`.
    void filled(std::size_t n, std::uint64_t stamp_ns);

    /// Takes the next complete message. False if more bytes are needed, or the stream is malformed:
    /// see `error`.
    bool next(Message& message);

    /// The reason that the stream is malformed; nullptr if it is not.
    const char* error() const { return error_; }

private:
    struct Header {
        bool is_final = false;
        Opcode opcode = Opcode::text;
        std::size_t header_bytes = 0;
        std::size_t payload_bytes = 0;
    };

    bool header(Header& header);
    const char* check(const Header& header) const;
    void compact();

    std::vector<std::uint8_t> buffer_;
    /// Bytes that no message was taken from yet.
    std::size_t start_ = 0;
    std::size_t end_ = 0;
    /// The bytes of the latest read start here.
    std::size_t latest_at_ = 0;
    std::uint64_t latest_ns_ = 0;
    std::uint64_t older_ns_ = 0;
    /// The fragments so far of a message, moved together.
    bool is_assembling_ = false;
    Opcode assembly_opcode_ = Opcode::text;
    std::size_t assembly_start_ = 0;
    std::size_t assembly_bytes_ = 0;
    std::uint64_t assembly_first_ns_ = 0;
    const char* error_ = nullptr;
};

} // namespace tickpath
