#include "json.hpp"

#include "error.hpp"

#include <charconv>

namespace tickpath {
namespace {

/// Deeper values are rejected.
constexpr int depth_max = 64;

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Json whole() {
        Json value = parse(0);
        spaces();
        if (at_ != text_.size()) {
            fail("something follows the value");
        }
        return value;
    }

private:
    [[noreturn]] void fail(const char* why) const {
        throw Error("malformed JSON at byte " + std::to_string(at_) + ": " + why);
    }

    void spaces() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
            ++at_;
        }
    }

    bool take(char c) {
        spaces();
        if (at_ < text_.size() && text_[at_] == c) {
            ++at_;
            return true;
        }
        return false;
    }

    bool take_word(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) {
            return false;
        }
        at_ += word.size();
        return true;
    }

    Json parse(int depth) {
        if (depth > depth_max) {
            fail("too many values inside each other");
        }
        spaces();
        Json value;
        if (take('{')) {
            value.kind = Json::Kind::object;
            object(value, depth);
        } else if (take('[')) {
            value.kind = Json::Kind::array;
            array(value, depth);
        } else if (at_ < text_.size() && text_[at_] == '"') {
            value.kind = Json::Kind::string;
            value.text = string();
        } else if (take_word("true") || take_word("false")) {
            value.kind = Json::Kind::boolean;
            value.truth = text_[at_ - 2] == 'u';
        } else if (!take_word("null")) {
            value.kind = Json::Kind::number;
            value.text = number();
        }
        return value;
    }

    void object(Json& value, int depth) {
        if (take('}')) {
            return;
        }
        do {
            spaces();
            std::string key = string();
            if (!take(':')) {
                fail("a colon is missing");
            }
            value.members.emplace_back(std::move(key), parse(depth + 1));
        } while (take(','));
        if (!take('}')) {
            fail("a comma or a brace is missing");
        }
    }

    void array(Json& value, int depth) {
        if (take(']')) {
            return;
        }
        do {
            value.items.push_back(parse(depth + 1));
        } while (take(','));
        if (!take(']')) {
            fail("a comma or a bracket is missing");
        }
    }

    std::string number() {
        const std::size_t start = at_;
        while (at_ < text_.size() && std::string_view("+-.eE0123456789").find(text_[at_]) != std::string_view::npos) {
            ++at_;
        }
        const std::string_view found = text_.substr(start, at_ - start);
        double ignored = 0;
        const auto end = std::from_chars(found.data(), found.data() + found.size(), ignored);
        if (found.empty() || end.ec == std::errc::invalid_argument || end.ptr != found.data() + found.size()) {
            fail("no value");
        }
        return std::string(found);
    }

    std::string string() {
        if (at_ >= text_.size() || text_[at_] != '"') {
            fail("a string is missing");
        }
        ++at_;
        std::string out;
        while (at_ < text_.size() && text_[at_] != '"') {
            const char c = text_[at_++];
            if (static_cast<unsigned char>(c) < 0x20) {
                fail("a control character in a string");
            }
            if (c == '\\') {
                escape(out);
            } else {
                out.push_back(c);
            }
        }
        if (at_ >= text_.size()) {
            fail("a string has no end");
        }
        ++at_;
        return out;
    }

    void escape(std::string& out) {
        static constexpr std::string_view names = "\"\\/bfnrt";
        static constexpr std::string_view values = "\"\\/\b\f\n\r\t";
        const char c = at_ < text_.size() ? text_[at_++] : ' ';
        if (const std::size_t found = names.find(c); found != std::string_view::npos) {
            out.push_back(values[found]);
            return;
        }
        if (c != 'u') {
            fail("an unknown escape");
        }
        std::uint32_t point = four_digits();
        if (point >= 0xd800 && point < 0xdc00 && take_word("\\u")) {
            const std::uint32_t low = four_digits();
            if (low < 0xdc00 || low > 0xdfff) {
                fail("half a surrogate pair");
            }
            point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        } else if (point >= 0xd800 && point <= 0xdfff) {
            fail("half a surrogate pair");
        }
        utf8(point, out);
    }

    std::uint32_t four_digits() {
        std::uint32_t value = 0;
        const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
        const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (digits.size() != 4 || end.ptr != digits.data() + 4) {
            fail("four hexadecimal digits are missing");
        }
        at_ += 4;
        return value;
    }

    static void utf8(std::uint32_t point, std::string& out) {
        const auto push = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
        if (point < 0x80) {
            push(point);
        } else if (point < 0x800) {
            push(0xc0 | point >> 6);
            push(0x80 | (point & 0x3f));
        } else if (point < 0x10000) {
            push(0xe0 | point >> 12);
            push(0x80 | (point >> 6 & 0x3f));
            push(0x80 | (point & 0x3f));
        } else {
            push(0xf0 | point >> 18);
            push(0x80 | (point >> 12 & 0x3f));
            push(0x80 | (point >> 6 & 0x3f));
            push(0x80 | (point & 0x3f));
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

template <typename T>
T number_of(const Json& value, std::string_view key, const char* what) {
    T out{};
    const char* end = value.text.data() + value.text.size();
    const auto read = std::from_chars(value.text.data(), end, out);
    if (value.kind != Json::Kind::number || read.ec != std::errc() || read.ptr != end) {
        throw Error("the plan's " + std::string(key) + " is not " + what);
    }
    return out;
}

} // namespace

Json Json::parse(std::string_view text) { return Parser(text).whole(); }

const Json* Json::find(std::string_view key) const {
    for (const auto& [name, value] : members) {
        if (name == key) {
            return value.kind == Kind::null ? nullptr : &value;
        }
    }
    return nullptr;
}

double Json::as_double(std::string_view key) const { return number_of<double>(*this, key, "a number"); }

std::uint64_t Json::as_u64(std::string_view key) const {
    return number_of<std::uint64_t>(*this, key, "a whole number");
}

const std::string& Json::as_string(std::string_view key) const {
    if (kind != Kind::string) {
        throw Error("the plan's " + std::string(key) + " is not a text");
    }
    return text;
}

std::string quoted(std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out.push_back('\\');
            out.push_back(c);
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += "\\u00";
            out.push_back(digits[c >> 4]);
            out.push_back(digits[c & 15]);
        } else {
            out.push_back(c);
        }
    }
    out.push_back('"');
    return out;
}

} // namespace tickpath
