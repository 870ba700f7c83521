#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tickpath {

/// Reads JSON text without building values. A method that returns false has found malformed JSON,
/// unless it says otherwise.
class Scanner {
public:
    explicit Scanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    bool is_at_end() const { return at_ == end_; }

    void spaces() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
            ++at_;
        }
    }

    /// Takes `c`, after spaces. False if there is another character, which stays.
    bool take(char c) {
        spaces();
        if (at_ == end_ || *at_ != c) {
            return false;
        }
        ++at_;
        return true;
    }

    /// The next character after spaces; 0 at the end.
    char peek() {
        spaces();
        return at_ == end_ ? '\0' : *at_;
    }

    /// Takes a string; `raw` is the text between the quotes.
    bool string(std::string_view& raw, bool& has_escapes);

    /// Takes a value of any kind.
    bool skip(int depth = 0);

    /// Takes `null`; false if there is something else, which stays.
    bool null() { return word("null"); }

private:
    bool word(std::string_view text) {
        if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, text.size()) != text) {
            return false;
        }
        at_ += text.size();
        return true;
    }

    bool digits() {
        const char* start = at_;
        while (at_ != end_ && *at_ >= '0' && *at_ <= '9') {
            ++at_;
        }
        return at_ != start;
    }

    bool number();
    bool escape();
    void plain_characters();

    const char* at_;
    const char* end_;
};

/// Moves to the next quote, backslash or control character.
inline void Scanner::plain_characters() {
#if defined(__SSE2__)
    // Most strings of the wire are shorter than two blocks, so wider registers would gain nothing.
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1f);
    while (end_ - at_ >= 16) {
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_));
        const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash));
        const __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(block, control), block);
        const auto found = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_or_si128(ends, controls)));
        if (found != 0) {
            at_ += std::countr_zero(found);
            return;
        }
        at_ += 16;
    }
#endif
    while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) {
        ++at_;
    }
}

inline bool Scanner::string(std::string_view& raw, bool& has_escapes) {
    if (!take('"')) {
        return false;
    }
    has_escapes = false;
    const char* start = at_;
    for (;;) {
        plain_characters();
        if (at_ == end_ || (*at_ != '"' && *at_ != '\\')) {
            return false;
        }
        if (*at_ == '"') {
            raw = std::string_view(start, static_cast<std::size_t>(at_ - start));
            ++at_;
            return true;
        }
        has_escapes = true;
        if (!escape()) {
            return false;
        }
    }
}

/// Whether all bytes are below 128; checks 16 at a time.
inline bool is_ascii(std::string_view text) {
    std::size_t i = 0;
#if defined(__SSE2__)
    __m128i all = _mm_setzero_si128();
    for (; i + 16 <= text.size(); i += 16) {
        all = _mm_or_si128(all, _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + i)));
    }
    if (_mm_movemask_epi8(all) != 0) {
        return false;
    }
#endif
    unsigned char rest = 0;
    for (; i < text.size(); ++i) {
        rest |= static_cast<unsigned char>(text[i]);
    }
    return rest < 0x80;
}

/// Whether the text is UTF-8 (RFC 3629). `is_ascii` is faster.
bool is_utf8(std::string_view text);

/// Decodes the escapes of a string from `Scanner::string` into `space`. Truncates it to `size`
/// bytes.
std::string_view unescaped(std::string_view raw, char* space, std::size_t size);

} // namespace tickpath
