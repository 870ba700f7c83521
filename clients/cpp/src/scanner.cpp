#include "scanner.hpp"

namespace tickpath {
namespace {

/// Limit on nested values; no message of an exchange is deeper.
constexpr int depth_max = 64;

int hex(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// Length of the UTF-8 sequence at the start of `text`; 0 if it is malformed.
std::size_t sequence(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) {
        return 1;
    }
    const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if (!is_continuation(text[i])) {
            return 0;
        }
    }
    const auto second = static_cast<unsigned char>(text[1]);
    // Overlong forms, surrogates, and code points above U+10FFFF.
    const bool is_bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return is_bad ? 0 : length;
}

} // namespace

bool Scanner::escape() {
    ++at_;
    if (at_ == end_) {
        return false;
    }
    const char c = *at_++;
    if (c != 'u') {
        return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    }
    for (int i = 0; i < 4; ++i) {
        if (at_ == end_ || hex(*at_++) < 0) {
            return false;
        }
    }
    return true;
}

bool Scanner::number() {
    if (at_ != end_ && *at_ == '-') {
        ++at_;
    }
    const char* start = at_;
    if (!digits() || (*start == '0' && at_ - start > 1)) {
        return false;
    }
    if (at_ != end_ && *at_ == '.') {
        ++at_;
        if (!digits()) {
            return false;
        }
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
        ++at_;
        if (at_ != end_ && (*at_ == '+' || *at_ == '-')) {
            ++at_;
        }
        return digits();
    }
    return true;
}

bool Scanner::skip(int depth) {
    if (depth > depth_max) {
        return false;
    }
    std::string_view raw;
    bool has_escapes = false;
    switch (peek()) {
    case '"':
        return string(raw, has_escapes);
    case '{':
    case '[': {
        const bool is_object = *at_++ == '{';
        const char close = is_object ? '}' : ']';
        if (take(close)) {
            return true;
        }
        do {
            if (is_object && !(string(raw, has_escapes) && take(':'))) {
                return false;
            }
            if (!skip(depth + 1)) {
                return false;
            }
        } while (take(','));
        return take(close);
    }
    case 't':
        return word("true");
    case 'f':
        return word("false");
    case 'n':
        return word("null");
    default:
        return number();
    }
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = sequence(text);
        if (length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

std::string_view unescaped(std::string_view raw, char* space, std::size_t size) {
    static constexpr std::string_view names = "\"\\/bfnrt";
    static constexpr std::string_view values = "\"\\/\b\f\n\r\t";
    std::size_t length = 0;
    for (std::size_t i = 0; i < raw.size() && length < size; ++i) {
        if (raw[i] != '\\') {
            space[length++] = raw[i];
        } else if (raw[i + 1] != 'u') {
            space[length++] = values[names.find(raw[++i])];
        } else {
            int point = 0;
            for (std::size_t digit = i + 2; digit < i + 6; ++digit) {
                point = point << 4 | hex(raw[digit]);
            }
            // Keys, client ids and statuses of the wire are ASCII, so another character matches
            // none.
            space[length++] = point < 0x80 ? static_cast<char>(point) : '?';
            i += 5;
        }
    }
    return {space, length};
}

} // namespace tickpath
