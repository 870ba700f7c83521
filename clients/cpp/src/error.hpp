#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tickpath {

/// Ends the client without a result. The text is one sentence: problem, reason, remedy.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The text of an errno.
inline std::string errno_text(int number) { return std::strerror(number); }

} // namespace tickpath
