#pragma once

#include <openssl/evp.h>

#include <string>
#include <string_view>

namespace tickpath {

/// Base64 with padding (RFC 4648).
inline std::string base64(std::string_view bytes) {
    // OpenSSL terminates the text with a zero; a string has space for it.
    std::string out((bytes.size() + 2) / 3 * 4, '\0');
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
    return out;
}

} // namespace tickpath
