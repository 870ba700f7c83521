// tickpath's client in C++: one plan, one run. See clients/CONTRACT.md.

#include "connection.hpp"
#include "error.hpp"
#include "feed_run.hpp"
#include "run.hpp"

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

using tickpath::Error;

/// Exit status without a result, for example after a wrong argument.
constexpr int no_result = 2;
/// Exit status with an incomplete result.
constexpr int incomplete = 3;

constexpr const char* usage = "Usage: tickpath-client [--io-uring] --plan FILE\n"
                              "       tickpath-client feed HOST:PORT [OPTIONS]\n"
                              "Carry out a plan of tickpath (clients/CONTRACT.md); FILE is - for stdin.\n"
                              "  --io-uring   Use io_uring instead of epoll and the socket calls, as with\n"
                              "               the plan's backends io_uring and io_uring_spin\n";

tickpath::Stop stop = false;
static_assert(tickpath::Stop::is_always_lock_free, "the signal handler sets it");

void watch_signals() {
    struct sigaction action {};
    action.sa_handler = [](int) { stop.store(true, std::memory_order_relaxed); };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    // A write to a broken connection then returns an error.
    std::signal(SIGPIPE, SIG_IGN);
}

struct Arguments {
    std::string plan;
    bool uses_uring = false;
};

Arguments arguments_of(int count, char** words) {
    Arguments arguments;
    for (int i = 1; i < count; ++i) {
        if (std::strcmp(words[i], "--io-uring") == 0) {
            arguments.uses_uring = true;
        } else if (std::strcmp(words[i], "--plan") == 0 && i + 1 < count) {
            arguments.plan = words[++i];
        } else {
            throw Error(std::string("unknown or incomplete argument ") + words[i] + "\n" + usage);
        }
    }
    if (arguments.plan.empty()) {
        throw Error(std::string("--plan is missing\n") + usage);
    }
    return arguments;
}

std::string text_of(const std::string& path) {
    const auto all = [](std::istream& in) {
        return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    };
    if (path == "-") {
        return all(std::cin);
    }
    std::ifstream file(path);
    if (!file) {
        throw Error("cannot read " + path + ": " + tickpath::errno_text(errno));
    }
    return all(file);
}

/// Prints a line of progress. Drops it if stdout would block, so that the log is not delayed.
void print_progress(const std::string& line) {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};
    if (poll(&out, 1, 0) > 0 && (out.revents & POLLOUT) != 0) {
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
    }
}

} // namespace

int main(int count, char** words) {
    try {
        if (count > 1 && std::strcmp(words[1], "feed") == 0) {
            const auto options = tickpath::FeedOptions::parse({words + 2, words + count});
            watch_signals();
            const tickpath::FeedResult result = tickpath::follow_feed(options, stop);
            std::printf("%s\n", result.json().c_str());
            return result.is_complete ? 0 : incomplete;
        }
        const Arguments arguments = arguments_of(count, words);
        const tickpath::Plan plan = tickpath::Plan::parse(text_of(arguments.plan));
        watch_signals();
        const tickpath::Result result = tickpath::run(plan, arguments.uses_uring, stop, print_progress);
        std::printf("%s\n", result.json(plan.load).c_str());
        return result.is_complete ? 0 : incomplete;
    } catch (const tickpath::Interrupted&) {
        std::fprintf(stderr, "error: interrupted while connecting; nothing was measured\n");
    } catch (const tickpath::TimedOut&) {
        std::fprintf(stderr, "error: the exchange took more than 5 s for a step of the log-on\n");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
    }
    return no_result;
}
