#include "plan.hpp"

#include "error.hpp"
#include "json.hpp"

#include <sched.h>

#include <charconv>
#include <cmath>

namespace tickpath {
namespace {

/// The limits of `tickpath trade`.
constexpr std::uint64_t accounts_max = 10'000;
constexpr std::uint64_t connections_max = 4'096;
constexpr std::uint64_t accounts_per_connection_max = 1'024;
constexpr std::uint64_t cancel_after_max = 10'000;
constexpr std::uint64_t burst_max = 1'000'000;
constexpr double rate_per_second_max = 1e9;
constexpr double seconds_max = 30 * 86'400.0;
constexpr std::size_t decimal_digits_max = 18;
/// Process ids are positive and of 31 bits.
constexpr std::uint64_t process_max = 0x7fff'ffff;

[[noreturn]] void bad(std::string_view key, const std::string& value, std::string_view why) {
    throw Error("the plan's " + std::string(key) + " = " + value + ": " + std::string(why));
}

const Json& need(const Json& object, std::string_view key) {
    const Json* found = member(object, key);
    if (found == nullptr) {
        throw Error("the plan has no " + std::string(key) + "; see clients/CONTRACT.md");
    }
    return *found;
}

std::uint64_t whole(const Json& object, std::string_view key, std::uint64_t least, std::uint64_t most) {
    const std::uint64_t value = as_u64(need(object, key), key);
    if (value < least || value > most) {
        bad(key, std::to_string(value), "allowed is " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
}

const std::string& text(const Json& object, std::string_view key) { return as_string(need(object, key), key); }

double real(const Json& object, std::string_view key, double most) {
    const double value = as_double(need(object, key), key);
    if (!(value >= 0 && value <= most)) {
        bad(key, std::to_string(value), "allowed is 0 to " + std::to_string(most));
    }
    return value;
}

/// Reads a name of an enumeration; `names` are in its order.
template <typename Enum, std::size_t n>
Enum one_of(const Json& object, std::string_view key, const char* const (&names)[n]) {
    const std::string& name = text(object, key);
    std::string known;
    for (std::size_t i = 0; i < n; ++i) {
        if (name == names[i]) {
            return static_cast<Enum>(i);
        }
        known += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    bad(key, name, "it is one of " + known);
}

void check_decimal(std::string_view key, const std::string& text) {
    std::size_t digits = 0;
    std::size_t points = 0;
    for (const char c : text) {
        digits += c >= '0' && c <= '9' ? 1 : 0;
        points += c == '.' ? 1 : 0;
    }
    const bool holds = digits > 0 && digits <= decimal_digits_max && points <= 1 && digits + points == text.size() &&
                       text.front() != '.' && text.back() != '.';
    if (!holds) {
        bad(key, text, "it must be a decimal number of at most 18 digits");
    }
}

Load load_of(const Json& object) {
    Load load;
    load.model = one_of<Model>(object, "model", {"open", "ping-pong"});
    load.arrival = one_of<Arrival>(object, "arrival", {"uniform", "poisson", "burst"});
    load.rate_per_second = real(object, "rate_per_second", rate_per_second_max);
    if (load.rate_per_second == 0 && load.model == Model::open) {
        bad("rate_per_second", "0", "an open loop needs a rate above 0");
    }
    load.burst = whole(object, "burst", 1, burst_max);
    load.seed = whole(object, "seed", 0, UINT64_MAX);
    load.accounts = whole(object, "accounts", 1, accounts_max);
    load.connections = whole(object, "connections", 1, connections_max);
    if (load.connections > load.accounts) {
        bad("connections", std::to_string(load.connections), "the limit is the number of accounts");
    }
    if (load.accounts > load.connections * accounts_per_connection_max) {
        bad("accounts", std::to_string(load.accounts), "the limit is 1024 accounts per connection");
    }
    load.cancel_after = whole(object, "cancel_after", 1, cancel_after_max);
    load.instrument = text(object, "instrument");
    load.side = text(object, "side");
    if (load.side != "BUY" && load.side != "SELL") {
        bad("side", load.side, "a side is BUY or SELL");
    }
    load.price = text(object, "price");
    load.amount = text(object, "amount");
    check_decimal("price", load.price);
    check_decimal("amount", load.amount);
    load.first_token = whole(object, "first_token", 0, UINT64_MAX - accounts_max);
    return load;
}

Scheduling scheduling_of(const std::string& text) {
    if (text == "other") {
        return {SCHED_OTHER, 0};
    }
    const std::size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    int priority = 0;
    if (colon != std::string::npos && (name == "fifo" || name == "rr")) {
        const char* end = text.data() + text.size();
        const auto read = std::from_chars(text.data() + colon + 1, end, priority);
        if (read.ec == std::errc() && read.ptr == end && priority >= 1 && priority <= 99) {
            return {name == "fifo" ? SCHED_FIFO : SCHED_RR, priority};
        }
    }
    bad("scheduling", text, "it is other, fifo:PRIORITY or rr:PRIORITY, priorities from 1 to 99");
}

std::optional<Trust> trust_of(const Json& plan) {
    const Json* tls = member(plan, "tls");
    if (tls == nullptr) {
        return std::nullopt;
    }
    if (!tls->is_object()) {
        bad("tls", line_of(*tls), "it must be an object");
    }
    const auto optional = [&](std::string_view key) -> std::optional<std::string> {
        const Json* found = member(*tls, key);
        return found == nullptr ? std::nullopt : std::optional(as_string(*found, key));
    };
    return Trust{optional("ca"), optional("ca_pem"), optional("name")};
}

} // namespace

std::uint64_t Load::messages(double duration_seconds) const {
    const std::uint64_t block = 2 * cancel_after;
    const auto exact = static_cast<std::uint64_t>(rate_per_second * duration_seconds);
    return (exact + block - 1) / block * block;
}

Plan Plan::parse(std::string_view line) {
    const Json json = parse_json(line);
    Plan plan;
    plan.subject = text(json, "subject");
    plan.target = text(json, "target");
    plan.wire = one_of<Wire>(json, "wire", {"websocket-json", "sbe"});
    plan.backend = text(json, "backend");
    if (plan.backend != "block" && !plan.spins() && !plan.uses_uring()) {
        bad("backend", plan.backend, "this client has spin, block, io_uring and io_uring_spin");
    }
    if (const Json* core = member(json, "core"); core != nullptr) {
        plan.core = as_u64(*core, "core");
    }
    plan.scheduling = scheduling_of(text(json, "scheduling"));
    plan.load = load_of(need(json, "load"));
    if (plan.wire == Wire::sbe && plan.load.connections != plan.load.accounts) {
        bad("connections", std::to_string(plan.load.connections),
            "a session of SBE has one account: set load.connections = load.accounts");
    }
    plan.warm_up_seconds = real(json, "warm_up_seconds", seconds_max);
    plan.seconds = real(json, "seconds", seconds_max);
    plan.hlog = text(json, "hlog");
    plan.tls = trust_of(json);
    if (const Json* progress = member(json, "progress"); progress != nullptr) {
        if (!progress->is_boolean()) {
            bad("progress", line_of(*progress), "it must be true or false");
        }
        plan.has_progress = progress->get<bool>();
    }
    if (member(json, "exchange_process") != nullptr) {
        plan.exchange_process = static_cast<std::uint32_t>(whole(json, "exchange_process", 1, process_max));
    }
    if (member(json, "inject") != nullptr) {
        throw Error("the plan asks to inject faults: only `tickpath trade` can");
    }
    return plan;
}

} // namespace tickpath
