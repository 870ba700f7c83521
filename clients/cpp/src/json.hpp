#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tickpath {

/// A JSON value, for the plan and for the log-on. Replies on the hot path go through reply.hpp.
class Json {
public:
    enum class Kind { null, boolean, number, string, array, object };

    /// Parses one value with nothing behind it. Throws Error that gives the place.
    static Json parse(std::string_view text);

    Kind kind = Kind::null;
    bool truth = false;
    /// A string's content, or a number as it was written.
    std::string text;
    std::vector<Json> items;
    std::vector<std::pair<std::string, Json>> members;

    /// The member of that name; null if there is none, or it is `null`.
    const Json* find(std::string_view key) const;

    /// The value as a number or a text. Throw Error that names `key` if it is none.
    double as_double(std::string_view key) const;
    std::uint64_t as_u64(std::string_view key) const;
    const std::string& as_string(std::string_view key) const;
};

/// `text` as a JSON string, with its quotes.
std::string quoted(std::string_view text);

} // namespace tickpath
