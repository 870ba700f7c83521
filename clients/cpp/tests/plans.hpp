#pragma once

#include "plan.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace tickpath::tests {

struct Backend {
    const char* label;
    const char* name;
    bool uses_uring;
};

constexpr std::array<Backend, 5> backends = {{
    {"Spin", "spin", false},
    {"Block", "block", false},
    {"UringSpin", "io_uring_spin", false},
    {"UringBlock", "io_uring", false},
    {"UringByOption", "block", true},
}};

inline std::ostream& operator<<(std::ostream& out, const Backend& backend) { return out << backend.label; }

/// A file for a log; the destructor removes it.
class Log {
public:
    Log() {
        std::string name = "/tmp/tickpath-cpp-XXXXXX";
        close(mkstemp(name.data()));
        path_ = name;
    }
    ~Log() { unlink(path_.c_str()); }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// The plan of a short run, without target and backend.
inline Plan plan(Model model, const Log& log) {
    Plan plan;
    plan.subject = "cpp";
    plan.load.model = model;
    plan.load.rate_per_second = 2000;
    plan.load.instrument = "BTC_USDT";
    plan.load.side = "BUY";
    plan.load.price = plan.load.amount = "1";
    plan.load.first_token = 3001;
    plan.warm_up_seconds = 0.1;
    plan.seconds = 0.3;
    plan.hlog = log.path();
    return plan;
}

} // namespace tickpath::tests
