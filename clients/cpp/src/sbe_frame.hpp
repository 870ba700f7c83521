#pragma once

#include "error.hpp"
#include "form.hpp"

// Generated from clients/feed/tickpath-orders.xml.
#include <tickpath_orders/CancelOrder.h>
#include <tickpath_orders/MessageHeader.h>
#include <tickpath_orders/NewOrder.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tickpath {

/// SBE's simple open framing header: the frame's length and the encoding, both big endian.
constexpr std::size_t sbe_frame_head_bytes = 6;
/// Bytes of a frame before its block.
constexpr std::size_t sbe_block_at = sbe_frame_head_bytes + orders::MessageHeader::encodedLength();
/// The longest frame.
constexpr std::size_t sbe_frame_bytes_max = 1024;

/// Writes the framing header of a frame of that length.
void write_sbe_frame_head(std::uint8_t* out, std::size_t frame_bytes);

/// A frame without a text, whose fields are zero. `set` gets the generated codec.
template <typename Codec, typename Set> std::vector<std::uint8_t> sbe_frame(Set&& set) {
    std::vector<std::uint8_t> out(sbe_block_at + Codec::sbeBlockLength());
    write_sbe_frame_head(out.data(), out.size());
    Codec codec;
    codec.wrapAndApplyHeader(reinterpret_cast<char*>(out.data()), sbe_frame_head_bytes, out.size());
    set(codec);
    return out;
}

/// The first message of a connection: a new session, whose orders stay when the connection ends.
std::vector<std::uint8_t> sbe_logon(std::string_view token);

/// A sign of life. `next_sequence` is the number of the next request.
std::vector<std::uint8_t> sbe_heartbeat(std::uint64_t next_sequence);

/// A complete message, in the reader's buffer.
struct SbeMessage {
    std::span<const std::uint8_t> frame;
    std::uint16_t template_id = 0;
    std::uint16_t block_bytes = 0;
    std::uint16_t version = 0;
    /// The stamp of the read that returned its first byte.
    std::uint64_t first_byte_ns = 0;

    /// Its generated codec. Throws Error if the block is shorter than its fields; the codec's
    /// accessors, except those of enumerations, then throw nothing.
    template <typename Codec> Codec as() const {
        if (block_bytes < Codec::sbeBlockLength()) {
            throw_short();
        }
        Codec codec;
        // Not const because the codecs can also write; nothing here does.
        auto* bytes = const_cast<char*>(reinterpret_cast<const char*>(frame.data()));
        codec.wrapForDecode(bytes, sbe_block_at, block_bytes, version, frame.size());
        return codec;
    }

    /// The text after the block. Throws Error if it is not complete, too long or not UTF-8.
    std::string_view text() const;

private:
    [[noreturn]] void throw_short() const;
};

/// The text of a field that is padded with zeros.
inline std::string_view sbe_padded(const char* field, std::size_t size) { return {field, strnlen(field, size)}; }

/// Finds frames in an exchange's bytes, without a copy. Take all messages before the next
/// `filled`, so that every stamp is exact.
class SbeReader {
public:
    SbeReader();

    /// The space for the next read; at least 4 KiB after `next` returned false.
    std::span<std::uint8_t> space();

    /// Adds `n` bytes in that space, from a read that returned at `stamp_ns`.
    void filled(std::size_t n, std::uint64_t stamp_ns);

    /// Takes the next complete message; false if more bytes are needed. Throws Error if the bytes
    /// are no frame.
    bool next(SbeMessage& message);

private:
    std::vector<std::uint8_t> buffer_;
    /// Bytes that no message was taken from yet.
    std::size_t start_ = 0;
    std::size_t end_ = 0;
    /// The bytes of the latest read start here.
    std::size_t latest_at_ = 0;
    std::uint64_t latest_ns_ = 0;
    std::uint64_t older_ns_ = 0;
};

/// An encoded message of one lane without its number and client id. Each order copies it.
class SbeForm {
public:
    static SbeForm order(const Load& load, std::uint16_t instrument);
    static SbeForm cancel(std::uint16_t instrument);

    std::size_t bytes() const { return frame_.size(); }

    /// Writes the message of order `number` to `out`, which has space for `bytes`. `sequence`
    /// numbers the requests of the session.
    void fill(std::uint8_t* out, const ClientIds& ids, std::uint64_t sequence, std::uint64_t number) const {
        std::memcpy(out, frame_.data(), frame_.size());
        std::memcpy(out + sbe_block_at + orders::NewOrder::sequenceEncodingOffset(), &sequence, sizeof sequence);
        ids.write(number, out + sbe_block_at + orders::NewOrder::clientIdEncodingOffset());
    }

private:
    explicit SbeForm(std::vector<std::uint8_t> frame) : frame_(std::move(frame)) {}

    std::vector<std::uint8_t> frame_;
};

// `fill` writes to both at the same places.
static_assert(orders::NewOrder::sequenceEncodingOffset() == orders::CancelOrder::sequenceEncodingOffset());
static_assert(orders::NewOrder::clientIdEncodingOffset() == orders::CancelOrder::clientIdEncodingOffset());
static_assert(client_id_bytes <= orders::NewOrder::clientIdEncodingLength());
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "`fill` writes the number as SBE has it");

} // namespace tickpath
