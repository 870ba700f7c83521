#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tickpath {

/// JSON where time does not matter: plans, results, logging on. Replies on the hot path go through
/// reply.hpp.
using Json = nlohmann::ordered_json;

/// Parses one value with nothing behind it. Throws Error that gives the place.
Json parse_json(std::string_view text);

/// `json` on one line. Bytes that are not UTF-8 are replaced: a complaint may quote a part of a
/// message.
std::string line_of(const Json& json);

/// The member of that name; nullptr if there is none, or it is `null`.
const Json* member(const Json& object, std::string_view key);

/// The value as a number or a text. Throw Error that names `key` if it is none.
double as_double(const Json& value, std::string_view key);
std::uint64_t as_u64(const Json& value, std::string_view key);
const std::string& as_string(const Json& value, std::string_view key);

} // namespace tickpath
