#include "json.hpp"

#include "error.hpp"

namespace tickpath {
namespace {

[[noreturn]] void wrong(const Json& value, std::string_view key, const char* expected) {
    throw Error(std::string(key) + " is " + line_of(value) + ", not " + expected);
}

} // namespace

Json parse_json(std::string_view text) {
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& error) {
        throw Error("malformed JSON at byte " + std::to_string(error.byte) + ": " + error.what());
    } catch (const Json::exception& error) {
        throw Error(std::string("malformed JSON: ") + error.what());
    }
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

const Json* member(const Json& object, std::string_view key) {
    const auto found = object.find(std::string(key));
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

double as_double(const Json& value, std::string_view key) {
    if (!value.is_number()) {
        wrong(value, key, "a number");
    }
    return value.get<double>();
}

std::uint64_t as_u64(const Json& value, std::string_view key) {
    if (!value.is_number_unsigned()) {
        wrong(value, key, "a whole number");
    }
    return value.get<std::uint64_t>();
}

const std::string& as_string(const Json& value, std::string_view key) {
    if (!value.is_string()) {
        wrong(value, key, "a string");
    }
    return value.get_ref<const std::string&>();
}

} // namespace tickpath
