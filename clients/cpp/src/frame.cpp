#include "frame.hpp"

namespace tickpath {
namespace {

constexpr std::size_t read_bytes_min = 4096;
constexpr std::size_t control_payload_bytes_max = 125;

bool is_control(Opcode opcode) { return static_cast<std::uint8_t>(opcode) >= 8; }

} // namespace

std::size_t write_header(std::uint8_t* out, Opcode opcode, std::size_t payload_bytes, Mask mask) {
    std::size_t n = 0;
    out[n++] = static_cast<std::uint8_t>(0x80 | static_cast<std::uint8_t>(opcode));
    const int length_bytes = payload_bytes < 126 ? 0 : payload_bytes < 65536 ? 2 : 8;
    const std::size_t short_length = length_bytes == 0 ? payload_bytes : length_bytes == 2 ? 126 : 127;
    out[n++] = static_cast<std::uint8_t>(0x80 | short_length);
    for (int i = length_bytes - 1; i >= 0; --i) {
        out[n++] = static_cast<std::uint8_t>(payload_bytes >> (8 * i));
    }
    std::memcpy(out + n, mask.data(), 4);
    return n + 4;
}

void append_frame(std::vector<std::uint8_t>& out, Opcode opcode, std::string_view payload, Mask mask) {
    const std::size_t start = out.size();
    out.resize(start + frame_header_bytes_max + payload.size());
    std::uint8_t* at = out.data() + start;
    at += write_header(at, opcode, payload.size(), mask);
    std::memcpy(at, payload.data(), payload.size());
    apply_mask(at, payload.size(), mask);
    out.resize(static_cast<std::size_t>(at - out.data()) + payload.size());
}

MessageReader::MessageReader()
    : buffer_(message_bytes_max + 2 * frame_header_bytes_max + control_payload_bytes_max + read_bytes_min) {}

std::uint8_t* MessageReader::space() {
    if (start_ == end_ && !is_assembling_) {
        start_ = end_ = latest_at_ = 0;
    } else if (space_bytes() < read_bytes_min) {
        compact();
    }
    return buffer_.data() + end_;
}

void MessageReader::filled(std::size_t n, std::uint64_t stamp_ns) {
    if (start_ >= latest_at_) {
        older_ns_ = latest_ns_;
    }
    latest_at_ = end_;
    latest_ns_ = stamp_ns;
    end_ += n;
}

/// Reads a header, if it is complete.
bool MessageReader::header(Header& header) {
    const std::uint8_t* at = buffer_.data() + start_;
    const std::size_t here = end_ - start_;
    if (here < 2) {
        return false;
    }
    const std::uint8_t opcode = at[0] & 0x0f;
    if ((at[0] & 0x70) != 0 || (opcode > 2 && opcode < 8) || opcode > 10) {
        error_ = "a frame has reserved bits or an unknown opcode";
        return false;
    }
    if ((at[1] & 0x80) != 0) {
        error_ = "a server's frame is masked";
        return false;
    }
    const std::size_t length_bytes = at[1] < 126 ? 0 : at[1] == 126 ? 2 : 8;
    if (here < 2 + length_bytes) {
        return false;
    }
    std::uint64_t length = at[1];
    if (length_bytes > 0) {
        length = 0;
        for (std::size_t i = 0; i < length_bytes; ++i) {
            length = length << 8 | at[2 + i];
        }
    }
    const std::uint64_t least = length_bytes == 0 ? 0 : length_bytes == 2 ? 126 : 65536;
    if (length < least) {
        error_ = "a frame's length has more bytes than it needs";
        return false;
    }
    header = {(at[0] & 0x80) != 0, static_cast<Opcode>(opcode), 2 + length_bytes, length};
    error_ = check(header);
    return error_ == nullptr;
}

const char* MessageReader::check(const Header& header) const {
    if (is_control(header.opcode)) {
        const bool holds = header.is_final && header.payload_bytes <= control_payload_bytes_max;
        return holds ? nullptr : "a control frame is fragmented or too long";
    }
    const bool continues = header.opcode == Opcode::continuation;
    if (continues != is_assembling_) {
        return continues ? "a continuation frame continues nothing" : "a message begins inside another";
    }
    const std::size_t so_far = is_assembling_ ? assembly_bytes_ : 0;
    return header.payload_bytes > message_bytes_max - so_far ? "a message is longer than 128 KiB" : nullptr;
}

bool MessageReader::next(Message& message) {
    Header found;
    while (error_ == nullptr && header(found)) {
        const std::size_t payload = start_ + found.header_bytes;
        if (end_ - payload < found.payload_bytes || payload > end_) {
            return false;
        }
        const std::uint64_t first_ns = start_ < latest_at_ ? older_ns_ : latest_ns_;
        start_ = payload + found.payload_bytes;
        const auto view = [&](std::size_t at, std::size_t size) {
            return std::string_view(reinterpret_cast<const char*>(buffer_.data()) + at, size);
        };
        if (is_control(found.opcode) || (found.is_final && !is_assembling_)) {
            message = {found.opcode, view(payload, found.payload_bytes), first_ns};
            return true;
        }
        if (!is_assembling_) {
            is_assembling_ = true;
            assembly_opcode_ = found.opcode;
            assembly_start_ = payload;
            assembly_bytes_ = found.payload_bytes;
            assembly_first_ns_ = first_ns;
        } else {
            std::memmove(buffer_.data() + assembly_start_ + assembly_bytes_, buffer_.data() + payload,
                         found.payload_bytes);
            assembly_bytes_ += found.payload_bytes;
        }
        if (found.is_final) {
            is_assembling_ = false;
            message = {assembly_opcode_, view(assembly_start_, assembly_bytes_), assembly_first_ns_};
            return true;
        }
    }
    return false;
}

/// Moves fragments and unread bytes to the front.
void MessageReader::compact() {
    std::size_t to = 0;
    if (is_assembling_) {
        std::memmove(buffer_.data(), buffer_.data() + assembly_start_, assembly_bytes_);
        assembly_start_ = 0;
        to = assembly_bytes_;
    }
    std::memmove(buffer_.data() + to, buffer_.data() + start_, end_ - start_);
    latest_at_ = latest_at_ > start_ ? latest_at_ - start_ + to : to;
    end_ = to + (end_ - start_);
    start_ = to;
}

} // namespace tickpath
