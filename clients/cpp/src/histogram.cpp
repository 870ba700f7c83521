#include "histogram.hpp"

#include "base64.hpp"
#include "error.hpp"

#include <zlib.h>

#include <algorithm>
#include <cmath>

namespace tickpath {
namespace {

constexpr std::uint32_t cookie = 0x1c849313;
constexpr std::uint32_t cookie_compressed = 0x1c849314;
constexpr std::uint32_t significant_digits = 3;
/// The number 1 as an IEEE double: integers are not converted.
constexpr std::uint64_t ratio_bits = 0x3ff0000000000000;

template <typename T>
void big_endian(std::string& out, T value) {
    for (int shift = static_cast<int>(sizeof value) * 8 - 8; shift >= 0; shift -= 8) {
        out.push_back(static_cast<char>(value >> shift));
    }
}

/// ZigZag LEB128, at most nine bytes.
void varint(std::string& out, std::int64_t value) {
    auto rest = static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
    for (int i = 0; i < 8 && rest >= 0x80; ++i) {
        out.push_back(static_cast<char>(0x80 | (rest & 0x7f)));
        rest >>= 7;
    }
    out.push_back(static_cast<char>(rest));
}

} // namespace

Histogram::Histogram() : counts_(index_of(highest_ns) / 1024 * 1024 + 1024) {}

std::uint64_t Histogram::highest_of(std::size_t index) {
    if (index < 2048) {
        return index;
    }
    const std::size_t bucket = (index >> half_bits) - 1;
    return ((index - (bucket << half_bits) + 1) << bucket) - 1;
}

std::uint64_t Histogram::at(double share) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total_)));
    std::uint64_t seen = 0;
    for (std::size_t index = 0; total_ > 0 && index <= last_; ++index) {
        seen += counts_[index];
        if (seen >= wanted && seen > 0) {
            return std::min(highest_of(index), max_ns_);
        }
    }
    return 0;
}

void Histogram::clear() {
    std::fill(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(last_ + 1), 0);
    total_ = max_ns_ = 0;
    last_ = 0;
}

std::string Histogram::encoded() const {
    std::string counts;
    for (std::size_t index = 0; index <= last_;) {
        std::size_t end = index;
        while (end <= last_ && counts_[end] == 0) {
            ++end;
        }
        // A run of zeros is encoded as its negative length, a single zero as zero.
        if (end - index > 1) {
            varint(counts, -static_cast<std::int64_t>(end - index));
            index = end;
        } else {
            varint(counts, counts_[index++]);
        }
    }
    std::string plain;
    big_endian(plain, cookie);
    big_endian(plain, static_cast<std::uint32_t>(counts.size()));
    big_endian(plain, std::uint32_t{0});
    big_endian(plain, significant_digits);
    big_endian(plain, std::uint64_t{1});
    big_endian(plain, highest_ns);
    big_endian(plain, ratio_bits);
    plain += counts;

    uLongf size = compressBound(plain.size());
    std::string deflated(size, '\0');
    if (compress2(reinterpret_cast<Bytef*>(deflated.data()), &size, reinterpret_cast<const Bytef*>(plain.data()),
                  plain.size(), Z_DEFAULT_COMPRESSION) != Z_OK) {
        throw Error("zlib cannot compress a histogram");
    }
    std::string out;
    big_endian(out, cookie_compressed);
    big_endian(out, static_cast<std::uint32_t>(size));
    out.append(deflated, 0, size);
    return base64(out);
}

} // namespace tickpath
