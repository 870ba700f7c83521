#include "feed_run.hpp"

#include "connection.hpp"
#include "error.hpp"
#include "feed_socket.hpp"
#include "form.hpp"
#include "json.hpp"
#include "reply.hpp"
#include "run.hpp"
#include "session.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

namespace tickpath {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
/// Time limit for the first whole book, and for a later one.
constexpr std::uint64_t book_ns_max = 10 * second_ns;
/// Heartbeats come ten a second.
constexpr std::uint64_t silence_ns_max = 2 * second_ns;
/// Datagrams between two looks at the replies.
constexpr int datagrams_a_turn = 64;
/// Replies then stay far below what an exchange lets wait for a client.
constexpr std::uint64_t unanswered_max = 2048;
constexpr int poll_ms = 20;

Load load_of(const FeedOptions& options) {
    Load load;
    load.instrument = options.instrument;
    load.side = "BUY";
    load.price = options.price;
    load.amount = options.amount;
    return load;
}

std::uint64_t ns_of(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

/// The one among `items` whose `key` is `value`; nullptr if there is none.
const Json* item(const Json* items, std::string_view key, std::string_view value) {
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
        const Json& one = items->at(i);
        const Json* found = member(one, key);
        if (found != nullptr && *found == Json(value)) {
            return &one;
        }
    }
    return nullptr;
}

const Json& need(const Json& feed, const char* key) {
    const Json* found = member(feed, key);
    if (found == nullptr) {
        throw Error(std::string("the exchange describes its feed without ") + key +
                    ": it may be older than this client");
    }
    return *found;
}

class FeedRun {
public:
    FeedRun(const FeedOptions& options, const Stop& stop)
        : options_(options), stop_(stop), clock_(Clock::calibrate()), connection_(options.target, stop),
          nonce_(nonce()), log_on_(connection_, reader_, nonce_), socket_(connection_.socket()),
          session_(subscribe()), follower_(session_), ids_(nonce_), masks_(nonce_),
          form_(Form::order(load_of(options), {}, "IMMEDIATE_OR_CANCELLED")), frame_(form_.bytes_max()),
          sent_ns_(2 * unanswered_max) {
        waiting_.reserve(64 * 1024);
    }

    void run() {
        last_datagram_ns_ = clock_.now_ns();
        synchronise();
        if (options_.is_operator) {
            log_on_.ask(R"({"type":"FLOW","action":"START"})", "FLOW", "FLOW_STARTED");
        }
        const std::uint64_t start_ns = clock_.now_ns();
        measured_from_ns_ = start_ns + ns_of(options_.warm_up_seconds);
        const std::uint64_t end_ns = measured_from_ns_ + ns_of(options_.seconds);
        is_trading_ = true;
        while (!is_over() && clock_.now_ns() < end_ns) {
            turn();
        }
        is_trading_ = false;
        const std::uint64_t replies_until_ns = clock_.now_ns() + drain_ns;
        while (failure_.empty() && unanswered() > 0 && clock_.now_ns() < replies_until_ns) {
            turn();
        }
        if (failure_.empty() && unanswered() > 0) {
            failure_ = std::to_string(unanswered()) + " orders had no reply within a second";
        }
        if (options_.is_operator && failure_.empty()) {
            compare_books();
        }
    }

    FeedResult result();

private:
    bool is_over() const { return stop_.load(std::memory_order_relaxed) || !failure_.empty(); }
    std::uint64_t unanswered() const { return next_order_ - result_.answered - result_.rejected; }

    std::uint64_t subscribe() {
        log_on_.upgrade(options_.target);
        log_on_.authenticate({options_.token});
        const Json answer = parse_json(
            log_on_.ask(feed_subscription(socket_.address()), "SUBSCRIBE to FEED", "SUBSCRIPTIONS"));
        const Json* feed = item(member(answer, "channels"), "name", "FEED");
        if (feed == nullptr) {
            throw Error("the exchange has no feed; start it with --feed unicast");
        }
        return std::stoull(as_string(need(*feed, "session"), "session"));
    }

    void synchronise() {
        const std::uint64_t until_ns = clock_.now_ns() + book_ns_max;
        while (!follower_.is_in_sync() || follower_.counters().snapshots == 0) {
            turn();
            if (is_over()) {
                throw Error(failure_.empty() ? "interrupted before the first complete book" : failure_);
            }
            if (clock_.now_ns() > until_ns) {
                throw Error("no complete book within 10 s: a firewall may drop the feed's datagrams, or the receive "
                            "buffer is smaller than the snapshot (net.core.rmem_max)");
            }
        }
    }

    void turn() {
        if (!options_.spins) {
            const short reply_events = waiting_.empty() ? POLLIN : POLLIN | POLLOUT;
            pollfd asked[] = {{socket_.socket(), POLLIN, 0}, {connection_.socket(), reply_events, 0}};
            poll(asked, 2, poll_ms);
        }
        read_feed();
        write_waiting();
        read_replies();
        const std::uint64_t now_ns = clock_.now_ns();
        if (const std::optional<std::string> request = follower_.next_request(now_ns)) {
            queue(Opcode::text, *request);
        }
        if (follower_.is_in_sync()) {
            in_sync_ns_ = now_ns;
        } else if (is_trading_ && now_ns > in_sync_ns_ + book_ns_max) {
            failure_ = "the feed has been incomplete for 10 s, and neither replays nor snapshots repaired it";
        }
        if (now_ns > last_datagram_ns_ + silence_ns_max) {
            failure_ = "no datagram of the feed for 2 s, though the exchange sends ten heartbeats a second";
        }
    }

    void read_feed() {
        for (int i = 0; i < datagrams_a_turn; ++i) {
            std::uint64_t read_ns = 0;
            const std::span<const std::uint8_t> datagram = socket_.read(clock_, read_ns);
            if (datagram.empty()) {
                return;
            }
            last_datagram_ns_ = read_ns;
            if (follower_.take(datagram) && is_trading_ && options_.order_every > 0 &&
                ++ticks_since_order_ >= options_.order_every) {
                ticks_since_order_ = 0;
                order(read_ns);
            }
        }
    }

    /// Stamps SEND, as the contract says: by the last instruction before the write.
    void order(std::uint64_t read_ns) {
        if (!waiting_.empty() || unanswered() >= unanswered_max) {
            ++result_.held_back;
            return;
        }
        const std::uint64_t number = next_order_++;
        const std::size_t size = form_.fill(frame_.data(), ids_, number, mask());
        const std::uint64_t sent_ns = clock_.now_ns();
        const ssize_t n = send(connection_.socket(), frame_.data(), size, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) {
            failure_ = "the connection ended: " + errno_text(errno);
            return;
        }
        const std::size_t taken = n < 0 ? 0 : static_cast<std::size_t>(n);
        waiting_.insert(waiting_.end(), frame_.begin() + static_cast<std::ptrdiff_t>(taken),
                        frame_.begin() + static_cast<std::ptrdiff_t>(size));
        // If a later write takes the rest, the order is not recorded.
        const bool is_recorded = taken == size && read_ns >= measured_from_ns_;
        sent_ns_[number % sent_ns_.size()] = is_recorded ? sent_ns : 0;
        if (is_recorded) {
            result_.tick_to_trade.record(sent_ns - read_ns);
        }
    }

    void queue(Opcode opcode, std::string_view payload) {
        append_frame(waiting_, opcode, payload, mask());
        write_waiting();
    }

    void write_waiting() {
        if (waiting_.empty()) {
            return;
        }
        const ssize_t n = send(connection_.socket(), waiting_.data(), waiting_.size(), MSG_NOSIGNAL);
        if (n >= 0) {
            waiting_.erase(waiting_.begin(), waiting_.begin() + n);
        } else if (errno != EAGAIN) {
            failure_ = "the connection ended: " + errno_text(errno);
        }
    }

    Mask mask() {
        const std::uint64_t bits = masks_.bits();
        Mask mask;
        std::memcpy(mask.data(), &bits, mask.size());
        return mask;
    }

    void read_replies() {
        const ssize_t n = recv(connection_.socket(), reader_.space(), reader_.space_bytes(), 0);
        const std::uint64_t read_ns = clock_.now_ns();
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n <= 0) {
            failure_ = "the connection ended: " + (n == 0 ? std::string("the other end closed it") : errno_text(errno));
            return;
        }
        reader_.filled(static_cast<std::size_t>(n), read_ns);
        Message message;
        while (failure_.empty() && reader_.next(message)) {
            if (message.opcode == Opcode::ping) {
                queue(Opcode::pong, message.payload);
            } else if (message.opcode == Opcode::close) {
                failure_ = "the exchange closed the connection";
            } else if (message.opcode == Opcode::text) {
                take_reply(message);
            }
        }
        if (reader_.error() != nullptr) {
            failure_ = std::string("unreadable reply: ") + reader_.error();
        }
    }

    void take_reply(const Message& message) {
        if (const char* wrong = decode_reply(message.payload, reply_); wrong != nullptr) {
            failure_ = std::string("unreadable reply: ") + wrong;
            return;
        }
        if (reply_.type == "FEED_REFUSED") {
            follower_.restart();
        } else if (reply_.type == "ERROR") {
            failure_ = "the exchange answers with an error: " + std::string(reply_.reason);
        }
        const bool is_rejected = reply_.kind == ReplyKind::rejected;
        const std::optional<std::uint64_t> number = ids_.number(reply_.client_id);
        if (!number || *number >= next_order_ || (!is_rejected && reply_.type != "DONE")) {
            return;
        }
        ++(is_rejected ? result_.rejected : result_.answered);
        if (is_rejected && complaint_.empty()) {
            complaint_ = "first complaint: rejected: " + std::string(reply_.reason);
        }
        std::uint64_t& sent_ns = sent_ns_[*number % sent_ns_.size()];
        if (sent_ns != 0 && !is_rejected) {
            result_.order_service.record(message.first_byte_ns - sent_ns);
        }
        sent_ns = 0;
    }

    void compare_books() {
        const Json answer = parse_json(log_on_.ask(R"({"type":"DESCRIBE"})", "DESCRIBE", "DESCRIPTION"));
        read_feed();
        if (const Json* feed = item(member(answer, "feeds"), "depth", "LEVELS"); feed != nullptr) {
            result_.exchange_sequence = as_u64(need(*feed, "sequence"), "sequence");
            result_.exchange_hash = as_string(need(*feed, "book_hash"), "book_hash");
        }
    }

    const FeedOptions& options_;
    const Stop& stop_;
    Clock clock_;
    Connection connection_;
    std::uint32_t nonce_;
    MessageReader reader_;
    LogOn log_on_;
    FeedSocket socket_;
    std::uint64_t session_;
    Follower follower_;
    ClientIds ids_;
    SplitMix64 masks_;
    Form form_;
    std::vector<std::uint8_t> frame_;
    /// Send times of orders, by number; 0 for one that is not recorded.
    std::vector<std::uint64_t> sent_ns_;
    /// Bytes that are not written yet.
    std::vector<std::uint8_t> waiting_;
    Reply reply_;
    std::uint64_t next_order_ = 0;
    std::uint64_t ticks_since_order_ = 0;
    std::uint64_t measured_from_ns_ = 0;
    std::uint64_t last_datagram_ns_ = 0;
    std::uint64_t in_sync_ns_ = 0;
    bool is_trading_ = false;
    std::string failure_;
    std::string complaint_;
    FeedResult result_;
};

std::optional<PriceLevel> best(const Book& book, feed::Side::Value side) {
    const PriceLevel* level = book.best(side);
    return level == nullptr ? std::nullopt : std::optional(*level);
}

FeedResult FeedRun::result() {
    FeedResult result = std::move(result_);
    result.is_complete = !is_over();
    for (const std::string& one : {failure_, complaint_}) {
        if (!one.empty()) {
            result.failures.push_back(one);
        }
    }
    result.session = session_;
    result.feed = follower_.counters();
    result.sequence = follower_.sequence();
    result.book_hash = follower_.book_hash();
    for (const Book& book : follower_.books()) {
        result.tops.push_back({book.code, best(book, feed::Side::BUY), best(book, feed::Side::SELL), book.levels()});
    }
    result.orders = next_order_;
    result.clock_source = clock_.source_name();
    result.clock_cost_ns = clock_.cost_ns();
    return result;
}

} // namespace

std::string feed_subscription(const std::string& address) {
    return R"({"type":"SUBSCRIBE","channels":[{"name":"ORDERS"},{"name":"FEED","address":")" + address +
           R"(","depth":"LEVELS"}]})";
}

FeedResult follow_feed(const FeedOptions& options, const Stop& stop) {
    if (options.core) {
        pin(*options.core);
    }
    try {
        FeedRun run(options, stop);
        run.run();
        return run.result();
    } catch (const Error& error) {
        throw Error("the feed of " + options.target + ": " + error.what());
    }
}

} // namespace tickpath
