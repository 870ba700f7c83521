#include "sbe_frame.hpp"

#include "scanner.hpp"

#include <tickpath_orders/Heartbeat.h>
#include <tickpath_orders/Logon.h>

#include <charconv>

namespace tickpath {
namespace {

/// SBE 1.0, little endian.
constexpr std::uint16_t encoding_type = 0xEB50;
/// The longest text of a frame.
constexpr std::size_t text_bytes_max = 512;
constexpr std::size_t text_head_bytes = sizeof(std::uint16_t);
constexpr std::size_t read_bytes_min = 4096;
/// Replies that one read may return, and half a frame before them.
constexpr std::size_t buffer_bytes = 64 * 1024;

std::uint32_t big_endian(const std::uint8_t* bytes, std::size_t n) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < n; ++i) {
        value = value << 8 | bytes[i];
    }
    return value;
}

/// Sets a decimal, which the plan has checked: its digits, and how many of them follow the point.
void set(orders::Scaled& scaled, const std::string& text) {
    std::string digits = text;
    std::size_t decimals = 0;
    if (const std::size_t point = text.find('.'); point != std::string::npos) {
        digits.erase(point, 1);
        decimals = digits.size() - point;
    }
    std::int64_t mantissa = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), mantissa);
    scaled.mantissa(mantissa).exponent(static_cast<std::int8_t>(-static_cast<int>(decimals)));
}

void set_null(orders::Scaled& scaled) { scaled.mantissa(orders::Scaled::mantissaNullValue()).exponent(0); }

} // namespace

void write_sbe_frame_head(std::uint8_t* out, std::size_t frame_bytes) {
    for (std::size_t i = 0; i < 4; ++i) {
        out[i] = static_cast<std::uint8_t>(frame_bytes >> (8 * (3 - i)));
    }
    out[4] = encoding_type >> 8;
    out[5] = encoding_type & 0xff;
}

std::vector<std::uint8_t> sbe_logon(std::string_view token) {
    auto frame = sbe_frame<orders::Logon>(
        [](orders::Logon& logon) { logon.session(0).lastSequence(0).cancelOnDisconnect(orders::Flag::OFF); });
    frame.push_back(static_cast<std::uint8_t>(token.size()));
    frame.push_back(static_cast<std::uint8_t>(token.size() >> 8));
    frame.insert(frame.end(), token.begin(), token.end());
    write_sbe_frame_head(frame.data(), frame.size());
    return frame;
}

std::vector<std::uint8_t> sbe_heartbeat(std::uint64_t next_sequence) {
    return sbe_frame<orders::Heartbeat>([&](orders::Heartbeat& one) { one.nextSequence(next_sequence); });
}

std::string_view SbeMessage::text() const {
    const std::size_t at = sbe_block_at + block_bytes;
    if (frame.size() - at < text_head_bytes) {
        throw_short();
    }
    const std::size_t size = static_cast<std::size_t>(frame[at] | frame[at + 1] << 8);
    if (frame.size() - at - text_head_bytes < size) {
        throw_short();
    }
    const std::string_view found(reinterpret_cast<const char*>(frame.data()) + at + text_head_bytes, size);
    if (size > text_bytes_max || !is_utf8(found)) {
        throw Error("a text is not UTF-8 of at most 512 bytes");
    }
    return found;
}

void SbeMessage::throw_short() const {
    throw Error("a message of template " + std::to_string(template_id) + " is shorter than its fields");
}

SbeReader::SbeReader() : buffer_(buffer_bytes) {}

std::span<std::uint8_t> SbeReader::space() {
    if (start_ == end_) {
        start_ = end_ = latest_at_ = 0;
    } else if (buffer_.size() - end_ < read_bytes_min) {
        std::memmove(buffer_.data(), buffer_.data() + start_, end_ - start_);
        latest_at_ = latest_at_ > start_ ? latest_at_ - start_ : 0;
        end_ -= start_;
        start_ = 0;
    }
    return {buffer_.data() + end_, buffer_.size() - end_};
}

void SbeReader::filled(std::size_t n, std::uint64_t stamp_ns) {
    if (start_ >= latest_at_) {
        older_ns_ = latest_ns_;
    }
    latest_at_ = end_;
    latest_ns_ = stamp_ns;
    end_ += n;
}

bool SbeReader::next(SbeMessage& message) {
    const std::uint8_t* at = buffer_.data() + start_;
    if (end_ - start_ < sbe_frame_head_bytes) {
        return false;
    }
    const std::size_t size = big_endian(at, 4);
    if (size < sbe_block_at || size > sbe_frame_bytes_max) {
        throw Error("a frame of " + std::to_string(size) + " bytes: the length must be from 14 to 1024");
    }
    if (const std::uint32_t found = big_endian(at + 4, 2); found != encoding_type) {
        throw Error("a frame's encoding type is " + std::to_string(found) + ", not 60240 (SBE 1.0, little endian)");
    }
    if (end_ - start_ < size) {
        return false;
    }
    orders::MessageHeader header(const_cast<char*>(reinterpret_cast<const char*>(at)), sbe_frame_head_bytes, size, 0);
    if (header.schemaId() != orders::NewOrder::sbeSchemaId()) {
        throw Error("a message of schema " + std::to_string(header.schemaId()) + ", not " +
                    std::to_string(orders::NewOrder::sbeSchemaId()));
    }
    message.frame = {at, size};
    message.template_id = header.templateId();
    message.block_bytes = header.blockLength();
    message.version = header.version();
    message.first_byte_ns = start_ < latest_at_ ? older_ns_ : latest_ns_;
    if (size - sbe_block_at < message.block_bytes) {
        throw Error("a message of template " + std::to_string(message.template_id) + " is longer than its frame");
    }
    start_ += size;
    return true;
}

SbeForm SbeForm::order(const Load& load, std::uint16_t instrument) {
    return SbeForm(sbe_frame<orders::NewOrder>([&](orders::NewOrder& one) {
        one.instrument(instrument)
            .side(load.side == "BUY" ? orders::Side::BUY : orders::Side::SELL)
            .timeInForce(orders::TimeInForce::GOOD_TILL_CANCELLED)
            .postOnly(orders::PostOnly::NO)
            .tick(orders::NewOrder::tickNullValue())
            .responseNs(orders::NewOrder::responseNsNullValue());
        set(one.price(), load.price);
        set(one.amount(), load.amount);
        set_null(one.displayAmount());
        set_null(one.stopPrice());
    }));
}

SbeForm SbeForm::cancel(std::uint16_t instrument) {
    return SbeForm(sbe_frame<orders::CancelOrder>([&](orders::CancelOrder& one) { one.instrument(instrument); }));
}

} // namespace tickpath
