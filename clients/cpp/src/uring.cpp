#include "error.hpp"
#include "streams.hpp"

#include <fcntl.h>
#include <liburing.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <poll.h>

namespace tickpath {
namespace {

/// Limit on the bytes of one write.
constexpr std::size_t send_bytes = 96 * 1024;
/// Bytes of a received piece: ten replies.
constexpr std::size_t piece_bytes = 4096;
constexpr std::size_t pieces_min = 256;
constexpr std::size_t pieces_max = 8192;
constexpr int piece_group = 0;
/// A write that is not complete in its own system call fails after this many checks.
constexpr int checks_for_write_max = 1000;

/// The operation of a completion, in the two lowest bits of its tag; the lane is in the others.
enum class Operation : std::uint64_t { receive, write, poll };

std::uint64_t tag(std::uint32_t lane, Operation operation) {
    return std::uint64_t{lane} << 2 | static_cast<std::uint64_t>(operation);
}

[[noreturn]] void fail_to_open(const char* what, int error) {
    throw Error(std::string("cannot open io_uring: ") + what + ": " + errno_text(error) +
                "; it needs Linux 6.4 or newer, kernel.io_uring_disabled = 0, no seccomp filter against it and "
                "enough locked memory (ulimit -l). Without it, leave --io-uring out");
}

/// Whole pages of memory, shared with the kernel.
class Pages {
public:
    explicit Pages(std::size_t bytes) : bytes_(bytes) {
        // Populated at once, so that no page faults during the run.
        address_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (address_ == MAP_FAILED) {
            throw Error("cannot allocate memory for io_uring: " + errno_text(errno));
        }
    }
    ~Pages() { munmap(address_, bytes_); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    std::uint8_t* bytes() { return static_cast<std::uint8_t*>(address_); }

private:
    void* address_;
    std::size_t bytes_;
};

/// Receives with one multishot request per lane into a ring of registered pieces, and writes from a
/// registered buffer. The kernel runs completions only when this thread enters it, so that they
/// don't interrupt it. Spinning reads a flag in shared memory, and enters the kernel when it is
/// set.
class Uring final : public Streams {
public:
    Uring(const Clock& clock, bool spins, std::size_t lanes)
        : clock_(clock), spins_(spins), piece_count_(std::bit_ceil(std::clamp(4 * lanes, pieces_min, pieces_max))),
          piece_ring_(piece_count_ * sizeof(io_uring_buf)), pieces_(piece_count_ * piece_bytes), send_(send_bytes),
          received_(piece_count_) {
        lanes_.reserve(lanes);
        listed_.reserve(2 * lanes);
        to_arm_.reserve(3 * lanes);
        open(lanes);
        if (!spins) {
            prctl(PR_SET_TIMERSLACK, 1);
        }
    }

    ~Uring() override {
        io_uring_queue_exit(&ring_);
        for (const Lane& lane : lanes_) {
            close(lane.socket);
        }
    }

    void add(int socket) override {
        const auto index = static_cast<std::uint32_t>(lanes_.size());
        lanes_.push_back({});
        lanes_.back().socket = socket;
        // io_uring does the waiting. With a socket that doesn't block it would return at once.
        if (fcntl(socket, F_SETFL, 0) != 0) {
            throw Error("cannot prepare a socket: " + errno_text(errno));
        }
        if (const int n = io_uring_register_files_update(&ring_, index, &socket, 1); n < 0) {
            fail_to_open("a socket is not registered", -n);
        }
        arm(index);
        if (const int n = io_uring_submit(&ring_); n < 0) {
            fail_to_open("the first receive fails", -n);
        }
    }

    int wait(std::uint64_t until_ns, std::vector<ReadyLane>& ready) override {
        arm_again();
        int error = 0;
        if (listed_.empty()) {
            error = spins_ ? look() : sleep(until_ns);
        }
        for (const ReadyLane one : listed_) {
            ready.push_back(one);
            if (!one.is_writable) {
                lanes_[one.lane].is_listed = false;
            }
        }
        listed_.clear();
        return error;
    }

    Transfer read(std::uint32_t index, std::uint8_t* into, std::size_t size) override {
        Lane& lane = lanes_[index];
        if (lane.first == none) {
            if (lane.error != 0) {
                return Transfer::failed(lane.error);
            }
            return {lane.is_closed ? Transfer::Outcome::closed : Transfer::Outcome::empty, false, 0, nullptr, 0, 0};
        }
        ReceivedPiece& piece = received_[lane.first];
        const std::size_t n = std::min(size, piece.end - piece.start);
        std::memcpy(into, pieces_.bytes() + lane.first * piece_bytes + piece.start, n);
        piece.start += n;
        const std::uint64_t stamp_ns = piece.stamp_ns;
        if (piece.start == piece.end) {
            const std::uint32_t done = lane.first;
            lane.first = piece.next;
            give_back(done, 0);
            io_uring_buf_ring_advance(ring_of_pieces(), 1);
        }
        Transfer transfer = Transfer::bytes(n, stamp_ns);
        transfer.has_more = lane.first != none || lane.is_closed || lane.error != 0;
        return transfer;
    }

    Transfer write(std::uint32_t lane, const std::uint8_t* from, std::size_t size) override {
        const std::size_t n = std::min(size, send_bytes);
        std::memcpy(send_.bytes(), from, n);
        io_uring_sqe* entry = next_entry();
        io_uring_prep_write_fixed(entry, static_cast<int>(lane), send_.bytes(), static_cast<unsigned>(n), 0, 0);
        entry->rw_flags = RWF_NOWAIT;
        entry->flags |= IOSQE_FIXED_FILE;
        io_uring_sqe_set_data64(entry, tag(lane, Operation::write));
        is_writing_ = true;
        const std::uint64_t stamp_ns = clock_.now_ns();
        int error = io_uring_submit(&ring_);
        for (int checks = 0; error >= 0 && checks < checks_for_write_max; ++checks) {
            reap();
            if (!is_writing_) {
                return outcome(stamp_ns);
            }
            error = io_uring_get_events(&ring_);
        }
        return Transfer::failed(error < 0 ? -error : EIO);
    }

    int watch_writable(std::uint32_t lane, bool watch) override {
        lanes_[lane].is_watched = watch;
        if (watch && !lanes_[lane].is_polled) {
            to_arm_.push_back(lane);
        }
        return 0;
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// A piece with unread bytes.
    struct ReceivedPiece {
        std::size_t start = 0;
        std::size_t end = 0;
        std::uint64_t stamp_ns = 0;
        /// The lane's next piece.
        std::uint32_t next = none;
    };

    struct Lane {
        int socket = -1;
        std::uint32_t first = none;
        std::uint32_t last = none;
        bool is_listed = false;
        bool is_receiving = false;
        bool is_closed = false;
        bool is_watched = false;
        bool is_polled = false;
        int error = 0;
    };

    void open(std::size_t lanes) {
        io_uring_params parameters{};
        parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
                           IORING_SETUP_CQSIZE;
        const auto entries = static_cast<unsigned>(std::bit_ceil(std::max<std::size_t>(lanes, 64)));
        parameters.cq_entries = static_cast<unsigned>(std::bit_ceil(2 * (piece_count_ + 2 * lanes)));
        if (const int n = io_uring_queue_init_params(entries, &ring_, &parameters); n < 0) {
            fail_to_open("the ring", -n);
        }
        const iovec buffer{send_.bytes(), send_bytes};
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uint64_t>(piece_ring_.bytes());
        registration.ring_entries = static_cast<std::uint32_t>(piece_count_);
        registration.bgid = piece_group;
        int error = io_uring_register_files_sparse(&ring_, static_cast<unsigned>(lanes));
        error = error < 0 ? error : io_uring_register_buffers(&ring_, &buffer, 1);
        error = error < 0 ? error : io_uring_register_buf_ring(&ring_, &registration, 0);
        error = error < 0 ? error : io_uring_register_ring_fd(&ring_);
        if (error < 0) {
            io_uring_queue_exit(&ring_);
            fail_to_open("registered buffers", -error);
        }
        io_uring_buf_ring_init(ring_of_pieces());
        for (std::uint32_t piece = 0; piece < piece_count_; ++piece) {
            give_back(piece, static_cast<int>(piece));
        }
        io_uring_buf_ring_advance(ring_of_pieces(), static_cast<int>(piece_count_));
    }

    io_uring_buf_ring* ring_of_pieces() { return reinterpret_cast<io_uring_buf_ring*>(piece_ring_.bytes()); }

    void give_back(std::uint32_t piece, int offset) {
        io_uring_buf_ring_add(ring_of_pieces(), pieces_.bytes() + piece * piece_bytes, piece_bytes,
                              static_cast<std::uint16_t>(piece),
                              io_uring_buf_ring_mask(static_cast<std::uint32_t>(piece_count_)), offset);
    }

    /// A free entry of the submission queue. Submits the queue if it is full.
    io_uring_sqe* next_entry() {
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        while (entry == nullptr) {
            io_uring_submit(&ring_);
            entry = io_uring_get_sqe(&ring_);
        }
        return entry;
    }

    void arm(std::uint32_t index) {
        Lane& lane = lanes_[index];
        if (!lane.is_receiving && !lane.is_closed && lane.error == 0) {
            io_uring_sqe* entry = next_entry();
            io_uring_prep_recv_multishot(entry, static_cast<int>(index), nullptr, 0, 0);
            entry->flags |= IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
            entry->buf_group = piece_group;
            io_uring_sqe_set_data64(entry, tag(index, Operation::receive));
            lane.is_receiving = true;
        }
        if (lane.is_watched && !lane.is_polled) {
            io_uring_sqe* entry = next_entry();
            io_uring_prep_poll_add(entry, static_cast<int>(index), POLLOUT);
            entry->flags |= IOSQE_FIXED_FILE;
            io_uring_sqe_set_data64(entry, tag(index, Operation::poll));
            lane.is_polled = true;
        }
    }

    /// Submits requests again that ended and are still needed. By then the lanes were read, so the
    /// kernel has pieces again.
    void arm_again() {
        if (to_arm_.empty()) {
            return;
        }
        for (const std::uint32_t lane : to_arm_) {
            arm(lane);
        }
        to_arm_.clear();
        io_uring_submit(&ring_);
        reap();
    }

    /// Checks once, without a system call unless the kernel has work for this thread.
    int look() {
        if (io_uring_cq_ready(&ring_) == 0) {
            const unsigned flags = __atomic_load_n(ring_.sq.kflags, __ATOMIC_RELAXED);
            if ((flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) == 0) {
                return 0;
            }
            if (const int error = io_uring_get_events(&ring_); error < 0 && error != -EINTR) {
                return -error;
            }
        }
        reap();
        return 0;
    }

    int sleep(std::uint64_t until_ns) {
        const std::uint64_t now_ns = clock_.now_ns();
        const std::uint64_t timeout_ns = until_ns > now_ns ? until_ns - now_ns : 0;
        __kernel_timespec timeout{static_cast<std::int64_t>(timeout_ns / 1'000'000'000),
                                  static_cast<long long>(timeout_ns % 1'000'000'000)};
        io_uring_cqe* completion = nullptr;
        const int error = io_uring_wait_cqe_timeout(&ring_, &completion, &timeout);
        reap();
        return error >= 0 || error == -ETIME || error == -EINTR || error == -EAGAIN ? 0 : -error;
    }

    /// Takes all completions. They share a stamp, because the call for them has just returned.
    void reap() {
        if (io_uring_cq_ready(&ring_) == 0) {
            return;
        }
        const std::uint64_t stamp_ns = clock_.now_ns();
        unsigned head = 0;
        unsigned count = 0;
        io_uring_cqe* completion = nullptr;
        io_uring_for_each_cqe(&ring_, head, completion) {
            ++count;
            const auto lane = static_cast<std::uint32_t>(completion->user_data >> 2);
            switch (static_cast<Operation>(completion->user_data & 3)) {
            case Operation::write:
                written_ = completion->res;
                is_writing_ = false;
                break;
            case Operation::poll:
                lanes_[lane].is_polled = false;
                to_arm_.push_back(lane);
                listed_.push_back({lane, true});
                break;
            case Operation::receive:
                receive(lane, *completion, stamp_ns);
                break;
            }
        }
        io_uring_cq_advance(&ring_, count);
    }

    void receive(std::uint32_t index, const io_uring_cqe& completion, std::uint64_t stamp_ns) {
        Lane& lane = lanes_[index];
        if ((completion.flags & IORING_CQE_F_MORE) == 0) {
            lane.is_receiving = false;
            to_arm_.push_back(index);
        }
        if (completion.res > 0) {
            const std::uint32_t piece = completion.flags >> IORING_CQE_BUFFER_SHIFT;
            received_[piece] = {0, static_cast<std::size_t>(completion.res), stamp_ns, none};
            (lane.first == none ? lane.first : received_[lane.last].next) = piece;
            lane.last = piece;
        } else if (completion.res == 0) {
            lane.is_closed = true;
        } else if (completion.res != -ENOBUFS && completion.res != -EINTR && completion.res != -EAGAIN) {
            lane.error = -completion.res;
        } else {
            return;
        }
        if (!lane.is_listed) {
            lane.is_listed = true;
            listed_.push_back({index, false});
        }
    }

    Transfer outcome(std::uint64_t stamp_ns) const {
        if (written_ >= 0) {
            return Transfer::bytes(static_cast<std::size_t>(written_), stamp_ns);
        }
        const bool is_full = written_ == -EAGAIN || written_ == -EINTR;
        return is_full ? Transfer::bytes(0, stamp_ns) : Transfer::failed(-written_);
    }

    Clock clock_;
    bool spins_;
    std::size_t piece_count_;
    Pages piece_ring_;
    Pages pieces_;
    Pages send_;
    io_uring ring_{};
    std::vector<Lane> lanes_;
    /// Indexed by piece.
    std::vector<ReceivedPiece> received_;
    /// Ready lanes that `wait` has not reported yet.
    std::vector<ReadyLane> listed_;
    /// Lanes whose receive or poll request ended.
    std::vector<std::uint32_t> to_arm_;
    bool is_writing_ = false;
    int written_ = 0;
};

} // namespace

std::unique_ptr<Streams> open_uring(const Clock& clock, bool spins, std::size_t lanes) {
    return std::make_unique<Uring>(clock, spins, lanes);
}

} // namespace tickpath
