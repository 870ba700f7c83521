#include "feed_run.hpp"

#include "json.hpp"

#include <cstdio>

namespace tickpath {
namespace {

std::string hex(std::uint64_t value) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
    return text;
}

std::string percentiles(const Histogram& histogram) {
    std::string out = "{\"count\":" + std::to_string(histogram.total());
    for (const auto& [name, share] : {std::pair("p50", 0.5), std::pair("p99", 0.99), std::pair("p999", 0.999)}) {
        out += std::string(",\"") + name + "\":" + std::to_string(histogram.at(share));
    }
    return out + ",\"max\":" + std::to_string(histogram.max_ns()) + "}";
}

std::string list(const std::vector<std::string>& items) {
    std::string out = "[";
    for (const std::string& one : items) {
        out += (out.size() == 1 ? "" : ",") + one;
    }
    return out + "]";
}

} // namespace

std::string FeedResult::json() const {
    std::vector<std::string> words;
    for (const std::string& one : failures) {
        words.push_back(tickpath::quoted(one));
    }
    std::string out = std::string("{\"complete\":") + (is_complete ? "true" : "false") +
                      ",\"failures\":" + list(words) + ",\"feed\":{\"session\":\"" + std::to_string(session) +
                      "\",\"sequence\":" + std::to_string(sequence);
    const std::pair<const char*, std::uint64_t> counts[] = {
        {"datagrams", feed.datagrams},
        {"heartbeats", feed.heartbeats},
        {"messages", feed.messages},
        {"ticks", feed.ticks},
        {"gaps", feed.gaps},
        {"replays_asked", feed.replays_asked},
        {"snapshots_asked", feed.snapshots_asked},
        {"snapshots", feed.snapshots},
        {"faults", feed.faults},
    };
    for (const auto& [name, count] : counts) {
        out += std::string(",\"") + name + "\":" + std::to_string(count);
    }
    out += ",\"book_hash\":\"" + hex(book_hash) + "\",\"exchange\":";
    out += !exchange_sequence ? "null"
                              : "{\"sequence\":" + std::to_string(*exchange_sequence) + ",\"book_hash\":\"" +
                                    exchange_hash + "\"}";
    out += "},\"top\":" + list(tops) + ",\"orders\":{\"sent\":" + std::to_string(orders) +
           ",\"answered\":" + std::to_string(answered) + ",\"rejected\":" + std::to_string(rejected) +
           ",\"held_back\":" + std::to_string(held_back) + "},\"tick_to_trade_ns\":" + percentiles(tick_to_trade) +
           ",\"order_service_ns\":" + percentiles(order_service);
    return out + ",\"clock\":{\"source\":" + tickpath::quoted(clock_source) + ",\"cost_ns\":" + std::to_string(clock_cost_ns) +
           "}}";
}

} // namespace tickpath
