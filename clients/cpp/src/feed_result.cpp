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

Json percentiles(const Histogram& histogram) {
    return {{"count", histogram.total()},
            {"p50", histogram.at(0.5)},
            {"p99", histogram.at(0.99)},
            {"p999", histogram.at(0.999)},
            {"max", histogram.max_ns()}};
}

Json quote(const std::optional<PriceLevel>& level) {
    return level ? Json{{"price_ticks", level->price_ticks}, {"quantity_lots", level->quantity_lots}} : Json();
}

} // namespace

std::string FeedResult::json() const {
    Json top = Json::array();
    for (const FeedTop& one : tops) {
        top.push_back({{"instrument", one.instrument},
                       {"bid", quote(one.bid)},
                       {"ask", quote(one.ask)},
                       {"levels", one.levels}});
    }
    const Json exchange =
        exchange_sequence ? Json{{"sequence", *exchange_sequence}, {"book_hash", exchange_hash}} : Json();
    return line_of({
        {"complete", is_complete},
        {"failures", failures},
        {"feed",
         {{"session", std::to_string(session)},
          {"sequence", sequence},
          {"datagrams", feed.datagrams},
          {"heartbeats", feed.heartbeats},
          {"messages", feed.messages},
          {"ticks", feed.ticks},
          {"gaps", feed.gaps},
          {"replays_asked", feed.replays_asked},
          {"snapshots_asked", feed.snapshots_asked},
          {"snapshots", feed.snapshots},
          {"faults", feed.faults},
          {"book_hash", hex(book_hash)},
          {"exchange", exchange}}},
        {"top", top},
        {"orders", {{"sent", orders}, {"answered", answered}, {"rejected", rejected}, {"held_back", held_back}}},
        {"tick_to_trade_ns", percentiles(tick_to_trade)},
        {"order_service_ns", percentiles(order_service)},
        {"clock", {{"source", clock_source}, {"cost_ns", clock_cost_ns}}},
    });
}

} // namespace tickpath
