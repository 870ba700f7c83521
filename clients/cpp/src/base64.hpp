#pragma once

#include <string>
#include <string_view>

namespace tickpath {

/// Base64 with padding (RFC 4648).
inline std::string base64(std::string_view bytes) {
    static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned group = 0;
        for (std::size_t j = i; j < i + 3; ++j) {
            group = group << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            const bool is_there = i + j <= bytes.size();
            out.push_back(is_there ? digits[group >> (18 - 6 * j) & 63] : '=');
        }
    }
    return out;
}

} // namespace tickpath
