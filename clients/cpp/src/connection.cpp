#include "connection.hpp"

#include "error.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

namespace tickpath {
namespace {

/// Time limit of connecting, and of each step of logging on.
constexpr auto step_patience = std::chrono::seconds(5);
/// A wait checks for signals this often.
constexpr int signal_check_ms = 50;

std::string port_of(const std::string& target) {
    const std::size_t colon = target.rfind(':');
    if (colon == std::string::npos || colon + 1 == target.size()) {
        throw Error("the plan's target " + target + " has no port: write HOST:PORT");
    }
    return target.substr(colon + 1);
}

} // namespace

std::string host_of(const std::string& target) {
    const std::string host = target.substr(0, target.rfind(':'));
    const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    return has_brackets ? host.substr(1, host.size() - 2) : host;
}

Deadline step_deadline() { return std::chrono::steady_clock::now() + step_patience; }

Connection::Connection(const std::string& target, const std::atomic<bool>& stop) : stop_(stop) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(host_of(target).c_str(), port_of(target).c_str(), &hints, &found); error != 0) {
        throw Error(std::string("the name has no address: ") + gai_strerror(error));
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
    int error = ENOENT;
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
        socket_ = ::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        error = socket_ < 0 ? errno : 0;
        if (error == 0 && connect(socket_, address->ai_addr, address->ai_addrlen) != 0) {
            error = errno;
        }
        if (error == EINPROGRESS) {
            try {
                wait(POLLOUT, step_deadline());
            } catch (const TimedOut&) {
                // SO_ERROR has no error in this case.
            }
            socklen_t size = sizeof error;
            getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
            pollfd writable{socket_, POLLOUT, 0};
            error = error == 0 && poll(&writable, 1, 0) != 1 ? ETIMEDOUT : error;
        }
        if (error == 0) {
            return;
        }
        if (socket_ >= 0) {
            close(socket_);
            socket_ = -1;
        }
    }
    throw Error(errno_text(error));
}

Connection::~Connection() {
    if (socket_ >= 0) {
        close(socket_);
    }
}

int Connection::release() {
    const int socket = socket_;
    socket_ = -1;
    return socket;
}

void Connection::wait(short events, Deadline deadline) const {
    for (;;) {
        if (stop_.load(std::memory_order_relaxed)) {
            throw Interrupted{};
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            throw TimedOut{};
        }
        pollfd asked{socket_, events, 0};
        const int found = poll(&asked, 1, signal_check_ms);
        if (found > 0) {
            return;
        }
        if (found < 0 && errno != EINTR) {
            throw Error(errno_text(errno));
        }
    }
}

void Connection::write(std::string_view bytes, Deadline deadline) {
    while (!bytes.empty()) {
        const ssize_t n = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) {
            wait(POLLOUT, deadline);
        } else if (errno != EINTR) {
            throw Error(errno_text(errno));
        }
    }
}

std::size_t Connection::read(std::uint8_t* into, std::size_t size, Deadline deadline) {
    for (;;) {
        const ssize_t n = recv(socket_, into, size, 0);
        if (n >= 0) {
            return static_cast<std::size_t>(n);
        }
        if (errno == EAGAIN) {
            wait(POLLIN, deadline);
        } else if (errno != EINTR) {
            throw Error(errno_text(errno));
        }
    }
}

} // namespace tickpath
