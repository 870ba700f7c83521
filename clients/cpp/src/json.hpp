#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tickpath {

/// JSON where time does not matter: plans, results, logging on. Replies on the hot path go through
/// reply.hpp.
using Json = nlohmann::ordered_json;

/// Parses text that is one value. Throws Error with the position if it is not.
Json parse_json(std::string_view text);

/// `json` on one line. Bytes that are not UTF-8 are replaced, because a complaint may quote part of
/// a message.
std::string line_of(const Json& json);

/// The value of a key; nullptr if the key is absent or null.
const Json* member(const Json& object, std::string_view key);

/// Convert the value. Throw Error that names `key` if its type is wrong.
double as_double(const Json& value, std::string_view key);
std::uint64_t as_u64(const Json& value, std::string_view key);
const std::string& as_string(const Json& value, std::string_view key);

} // namespace tickpath
