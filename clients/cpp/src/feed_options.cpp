#include "feed_run.hpp"

#include "error.hpp"

#include <charconv>

namespace tickpath {
namespace {

constexpr double seconds_max = 30 * 86'400.0;

[[noreturn]] void wrong(const std::string& what) { throw Error(what + "\n" + FeedOptions::usage()); }

template <typename Number>
Number number(const std::string& option, const std::string& text, Number most) {
    Number value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || !(value >= 0 && value <= most)) {
        wrong(option + " " + text + " is not a number from 0 to " + std::to_string(most));
    }
    return value;
}

} // namespace

const char* FeedOptions::usage() {
    return "Usage: tickpath-client feed HOST:PORT [OPTIONS]\n"
           "Follow the exchange's market data feed, and print one line of JSON.\n"
           "  --seconds S        Length of the measured part [default: 5]\n"
           "  --warm-up S        Seconds before it [default: 1]\n"
           "  --order-every N    Answer every N-th tick with an order that doesn't rest [default: 0, none]\n"
           "  --instrument CODE, --price P, --amount A\n"
           "                     What the orders buy [default: BTC_USDT, 1, 1]\n"
           "  --token N          Token of the account [default: 3001]\n"
           "  --core N           Pin the program to this core\n"
           "  --spin             Poll the sockets without a pause\n"
           "  --flow             Start the exchange's own flow, and compare the books at the end\n"
           "                     (an exchange with --flow and --any-token)\n";
}

FeedOptions FeedOptions::parse(const std::vector<std::string>& words) {
    FeedOptions options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const auto value = [&]() -> const std::string& {
            if (i + 1 == words.size()) {
                wrong(word + " needs a value");
            }
            return words[++i];
        };
        if (word == "--seconds") {
            options.seconds = number(word, value(), seconds_max);
        } else if (word == "--warm-up") {
            options.warm_up_seconds = number(word, value(), seconds_max);
        } else if (word == "--order-every") {
            options.order_every = number(word, value(), std::uint64_t{1'000'000'000});
        } else if (word == "--instrument") {
            options.instrument = value();
        } else if (word == "--price") {
            options.price = value();
        } else if (word == "--amount") {
            options.amount = value();
        } else if (word == "--token") {
            options.token = number(word, value(), UINT64_MAX);
        } else if (word == "--core") {
            options.core = number(word, value(), std::size_t{1'000'000});
        } else if (word == "--spin") {
            options.spins = true;
        } else if (word == "--flow") {
            options.is_operator = true;
        } else if (options.target.empty() && word.find(':') != std::string::npos) {
            options.target = word;
        } else {
            wrong("unknown argument " + word);
        }
    }
    if (options.target.empty()) {
        wrong("HOST:PORT is missing");
    }
    return options;
}

} // namespace tickpath
