#include "error.hpp"
#include "streams.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tickpath {
namespace {

/// Up to this many lanes, spinning reads each in turn, because an empty `recv` costs less than a
/// call of epoll. With more lanes, epoll finds the ready ones.
constexpr std::size_t lanes_read_in_turn_max = 4;
/// While lanes are read in turn, epoll looks for writable ones after this many turns.
constexpr unsigned turns_between_epoll = 64;

bool is_nothing(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

class Readiness final : public Streams {
public:
    Readiness(const Clock& clock, bool spins, std::size_t lanes)
        : clock_(clock), spins_(spins), epoll_(epoll_create1(EPOLL_CLOEXEC)), events_(2 * lanes) {
        if (epoll_ < 0) {
            throw Error("cannot open epoll: " + errno_text(errno));
        }
        sockets_.reserve(lanes);
        if (!spins) {
            // By default the kernel may wake a sleeping thread 50 us late to save power.
            prctl(PR_SET_TIMERSLACK, 1);
        }
    }

    ~Readiness() override {
        for (const int socket : sockets_) {
            close(socket);
        }
        close(epoll_);
    }

    void add(int socket) override {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = static_cast<std::uint32_t>(sockets_.size());
        sockets_.push_back(socket);
        if (fcntl(socket, F_SETFL, O_NONBLOCK) != 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) != 0) {
            throw Error("cannot watch a socket: " + errno_text(errno));
        }
    }

    int wait(std::uint64_t until_ns, std::vector<ReadyLane>& ready) override {
        if (!spins_) {
            const std::uint64_t now_ns = clock_.now_ns();
            return ask_epoll(until_ns > now_ns ? until_ns - now_ns : 0, ready);
        }
        if (sockets_.size() > lanes_read_in_turn_max || ++turn_ % turns_between_epoll == 0) {
            return ask_epoll(0, ready);
        }
        for (std::uint32_t lane = 0; lane < sockets_.size(); ++lane) {
            ready.push_back({lane, false});
        }
        return 0;
    }

    Transfer read(std::uint32_t lane, std::uint8_t* into, std::size_t size) override {
        const ssize_t n = recv(sockets_[lane], into, size, 0);
        const std::uint64_t stamp_ns = clock_.now_ns();
        if (n > 0) {
            return Transfer::bytes(static_cast<std::size_t>(n), stamp_ns);
        }
        if (n == 0) {
            return {Transfer::Outcome::closed, false, 0, nullptr, 0, 0};
        }
        return is_nothing(errno) ? Transfer{} : Transfer::failed(errno);
    }

    Transfer write(std::uint32_t lane, const std::uint8_t* from, std::size_t size) override {
        const std::uint64_t stamp_ns = clock_.now_ns();
        const ssize_t n = send(sockets_[lane], from, size, MSG_NOSIGNAL);
        if (n >= 0) {
            return Transfer::bytes(static_cast<std::size_t>(n), stamp_ns);
        }
        return is_nothing(errno) ? Transfer::bytes(0, stamp_ns) : Transfer::failed(errno);
    }

    int watch_writable(std::uint32_t lane, bool watch) override {
        epoll_event event{};
        event.events = watch ? EPOLLIN | EPOLLOUT : EPOLLIN;
        event.data.u32 = lane;
        return epoll_ctl(epoll_, EPOLL_CTL_MOD, sockets_[lane], &event) == 0 ? 0 : errno;
    }

private:
    int ask_epoll(std::uint64_t timeout_ns, std::vector<ReadyLane>& ready) {
        // epoll waits whole milliseconds (nanoseconds only since Linux 5.11), so ppoll waits for
        // the fraction at the end.
        const std::uint64_t whole_ms = timeout_ns / 1'000'000;
        if (whole_ms == 0 && timeout_ns > 0) {
            pollfd asked{epoll_, POLLIN, 0};
            const timespec fraction{0, static_cast<long>(timeout_ns)};
            const int found = ppoll(&asked, 1, &fraction, nullptr);
            if (found <= 0) {
                return found == 0 || errno == EINTR ? 0 : errno;
            }
        }
        const int n = epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()),
                                 static_cast<int>(whole_ms));
        if (n < 0) {
            return errno == EINTR ? 0 : errno;
        }
        for (int i = 0; i < n; ++i) {
            const epoll_event& event = events_[static_cast<std::size_t>(i)];
            // An error or a hang-up is found by reading.
            if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) {
                ready.push_back({event.data.u32, false});
            }
            if ((event.events & EPOLLOUT) != 0) {
                ready.push_back({event.data.u32, true});
            }
        }
        return 0;
    }

    Clock clock_;
    bool spins_;
    int epoll_;
    unsigned turn_ = 0;
    std::vector<epoll_event> events_;
    std::vector<int> sockets_;
};

} // namespace

std::unique_ptr<Streams> open_readiness(const Clock& clock, bool spins, std::size_t lanes) {
    return std::make_unique<Readiness>(clock, spins, lanes);
}

void prepare_socket(int socket) {
    const auto set = [&](int level, int option, int value) {
        if (setsockopt(socket, level, option, &value, sizeof value) != 0) {
            throw Error("cannot set an option of a socket: " + errno_text(errno));
        }
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

} // namespace tickpath
