#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tickpath {

/// Why there is no result: what happened, why, and what to do, in one sentence.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The kernel's words for `number`, an errno.
inline std::string kernel_says(int number) { return std::strerror(number); }

} // namespace tickpath
