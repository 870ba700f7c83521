#include "run.hpp"

#include "connection.hpp"
#include "error.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "tls.hpp"

#include <sched.h>

#include <chrono>
#include <exception>
#include <optional>
#include <random>
#include <thread>
#include <utility>

namespace tickpath {
namespace {

/// The other thread looks for complete intervals this often.
constexpr auto drain_pause = std::chrono::milliseconds(200);

double wall_seconds() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

void set_scheduling(const Scheduling& scheduling) {
    sched_param parameter{};
    parameter.sched_priority = scheduling.priority;
    if (scheduling.policy != SCHED_OTHER && sched_setscheduler(0, scheduling.policy, &parameter) != 0) {
        throw Error("cannot set the plan's scheduling class: " + errno_text(errno) +
                    "; it needs CAP_SYS_NICE or a limit (ulimit -r)");
    }
}

/// State that the measuring thread and the other one share.
struct SharedState {
    Recorder recorder;
    /// The start of the load on both clocks; set before `has_begun`.
    double start_wall_seconds = 0;
    std::uint64_t start_ns = 0;
    std::atomic<bool> has_begun = false;
    std::atomic<bool> has_ended = false;
    Result result;
    std::exception_ptr error;

    explicit SharedState(const Plan& plan) : recorder(plan.load.model, plan.seconds) {}
};

/// Connects and logs on, lane by lane.
class Connector {
public:
    Connector(const Plan& plan, const Stop& stop, OrderProtocol& protocol)
        : plan_(plan), stop_(stop), protocol_(protocol) {
        if (plan.tls) {
            tls_.emplace(*plan.tls, plan.target);
        }
    }

    void connect(std::size_t lane, Streams& streams) {
        try {
            Connection connection(plan_.target, stop_);
            if (tls_) {
                TlsSession& session = *sessions.emplace_back(std::make_unique<TlsSession>(*tls_));
                session.shake_hands(connection);
                TlsLink link(connection, session);
                log_on(lane, link);
            } else {
                log_on(lane, connection);
            }
            const int socket = connection.release();
            prepare_socket(socket);
            streams.add(socket);
        } catch (const TlsError& error) {
            throw Error("connection " + std::to_string(lane) + " to " + plan_.target + ": " + error.what());
        } catch (const Error& error) {
            throw Error("connection " + std::to_string(lane) + " to " + plan_.target + ": " + error.what() +
                        "; is an exchange running there?");
        }
    }

    std::vector<std::unique_ptr<TlsSession>> sessions;

private:
    void log_on(std::size_t lane, Link& link) {
        std::vector<std::size_t> accounts;
        for (std::size_t account = lane; account < plan_.load.accounts; account += plan_.load.connections) {
            accounts.push_back(account);
        }
        protocol_.log_on(lane, link, accounts);
    }

    const Plan& plan_;
    const Stop& stop_;
    OrderProtocol& protocol_;
    std::optional<TlsContext> tls_;
};

void measure(const Plan& plan, bool uses_uring, const Stop& stop, SharedState& shared) {
    // Pin first, so that memory comes from the core's NUMA node.
    if (plan.core) {
        pin(*plan.core);
    }
    const Clock clock = Clock::calibrate();
    const bool spins = plan.spins();
    const std::size_t lanes = plan.load.connections;
    const bool is_uring = uses_uring || plan.uses_uring();
    auto streams = is_uring ? open_uring(clock, spins, lanes) : open_readiness(clock, spins, lanes);
    auto protocol = (plan.wire == Wire::sbe ? open_sbe_orders : open_web_orders)(plan, nonce());
    Connector connector(plan, stop, *protocol);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        connector.connect(lane, *streams);
    }
    if (plan.tls) {
        streams = with_tls(std::move(streams), std::move(connector.sessions));
    }
    Desk desk(clock, std::move(streams), std::move(protocol), lanes, plan.load.model, shared.recorder,
              ProcessorMeter(plan.exchange_process));
    // Last, so that the set-up above does not run in a real-time class.
    set_scheduling(plan.scheduling);
    shared.start_wall_seconds = wall_seconds();
    shared.start_ns = clock.now_ns();
    shared.has_begun.store(true, std::memory_order_release);
    const auto run_load = plan.load.model == Model::open ? run_open_loop : run_ping_pong;
    const bool is_complete = run_load(desk, plan, stop);
    desk.finish();
    Result& result = shared.result;
    result.is_complete = is_complete;
    if (desk.has_failed()) {
        result.failures.push_back(desk.failure());
    }
    if (!desk.complaint().empty()) {
        result.failures.push_back("first complaint: " + desk.complaint());
    }
    result.counters = desk.counters;
    result.spins = spins;
    result.clock_source = clock.source_name();
    result.clock_cost_ns = clock.cost_ns();
}

/// The work of the other thread: it writes the log and the progress lines. It writes the log of a
/// short run after the run, so that nothing is encoded during it.
class Drain {
public:
    Drain(const Plan& plan, SharedState& shared, LogWriter& log, const ProgressSink& progress)
        : shared_(shared), log_(log), sink_(progress), progress_(plan.load.model),
          is_long_(plan.seconds > Recorder::seconds_in_memory_max),
          has_progress_(plan.has_progress && progress && (!plan.core || keep_off(*plan.core))) {}

    /// Works during the run, and returns when the measuring thread has ended.
    void during_run() {
        while ((is_long_ || has_progress_) && !shared_.has_ended.load(std::memory_order_acquire)) {
            std::this_thread::sleep_for(drain_pause);
            take();
        }
    }

    /// Writes the remaining intervals after the run.
    void finish() {
        take();
        begin();
        for (Interval* interval : std::exchange(kept_, {})) {
            log_.write(*interval);
        }
        log_.flush();
    }

private:
    void take() {
        if (!shared_.has_begun.load(std::memory_order_acquire)) {
            return;
        }
        while (Interval* interval = shared_.recorder.next()) {
            if (has_progress_) {
                if (const auto line = progress_.line(*interval)) {
                    sink_(*line);
                }
            }
            if (is_long_) {
                begin();
                log_.write(*interval);
                shared_.recorder.give_back(interval);
            } else {
                kept_.push_back(interval);
            }
        }
        log_.flush();
    }

    void begin() {
        if (!std::exchange(is_begun_, true)) {
            log_.begin(shared_.start_wall_seconds, shared_.start_ns);
        }
    }

    SharedState& shared_;
    LogWriter& log_;
    const ProgressSink& sink_;
    ProgressLines progress_;
    bool is_long_;
    bool has_progress_;
    bool is_begun_ = false;
    std::vector<Interval*> kept_;
};

} // namespace

std::uint32_t nonce() {
    return std::random_device()();
}

void pin(std::size_t core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (core < CPU_SETSIZE) {
        CPU_SET(core, &cores);
    }
    if (sched_setaffinity(0, sizeof cores, &cores) != 0) {
        throw Error("cannot pin the measuring thread to core " + std::to_string(core) + ": " + errno_text(errno));
    }
}

Result run(const Plan& plan, bool uses_uring, Stop& stop, const ProgressSink& progress) {
    LogWriter log(plan.hlog, plan.subject);
    SharedState shared(plan);
    Drain drain(plan, shared, log, progress);
    std::thread measuring([&] {
        try {
            measure(plan, uses_uring, stop, shared);
        } catch (...) {
            shared.error = std::current_exception();
        }
        shared.has_ended.store(true, std::memory_order_release);
    });
    std::string log_error;
    try {
        drain.during_run();
    } catch (const Error& error) {
        // A run without a log is of no use.
        log_error = error.what();
        stop.store(true);
    }
    measuring.join();
    if (shared.error) {
        std::rethrow_exception(shared.error);
    }
    try {
        if (log_error.empty()) {
            drain.finish();
        }
    } catch (const Error& error) {
        log_error = error.what();
    }
    if (!log_error.empty()) {
        shared.result.is_complete = false;
        shared.result.failures.insert(shared.result.failures.begin(), log_error);
    }
    return std::move(shared.result);
}

std::string Result::json(const Load& load) const {
    const bool is_open = load.model == Model::open;
    Json processor;
    if (const auto [client_ns, exchange_ns] = counters.processor_ns; client_ns) {
        processor = {{"client_ns", *client_ns},
                     {"exchange_ns", exchange_ns ? Json(*exchange_ns) : Json()},
                     {"spinning", spins ? Json::array({"client"}) : Json::array()}};
    }
    return line_of({
        {"complete", is_complete},
        {"failures", failures},
        {"load",
         {{"model", is_open ? "open" : "ping-pong"},
          {"rate_per_second_offered", is_open ? Json(load.rate_per_second) : Json()},
          {"rate_per_second_achieved", counters.rate_per_second_achieved},
          {"sent", counters.sent},
          {"received", counters.received},
          {"lost", counters.lost},
          {"duplicated", counters.duplicated},
          {"out_of_order", counters.out_of_order},
          {"overtakes", counters.overtakes},
          {"rejected", counters.rejected},
          {"unexpected", counters.unexpected},
          {"held_back", counters.held_back},
          {"warm_up_sent", counters.warm_up_sent},
          {"context_switches_involuntary", counters.context_switches_involuntary},
          {"page_faults", counters.page_faults},
          {"processor", processor},
          {"message_bytes",
           {{"order", counters.order.mean()},
            {"order_reply", counters.order_reply.mean()},
            {"cancel", counters.cancel.mean()},
            {"cancel_reply", counters.cancel_reply.mean()}}}}},
        {"clock", {{"source", clock_source}, {"cost_ns", clock_cost_ns}}},
    });
}

} // namespace tickpath
