#include "feed_run.hpp"

#include "error.hpp"
#include "vectors.hpp"

namespace tickpath::tests {

TEST(FeedOptions, AWrongOneIsNamed) {
    EXPECT_EQ(FeedOptions::parse({"h:1", "--order-every", "3", "--spin"}).order_every, 3U);
    for (const auto& [words, part] : {std::pair(std::vector<std::string>{"h:1", "--seconds", "x"}, "--seconds x"),
                                      {{"h:1", "--core"}, "--core needs a value"},
                                      {{"h:1", "--later"}, "unknown argument --later"},
                                      {{"--spin"}, "HOST:PORT is missing"}}) {
        try {
            FeedOptions::parse(words);
            ADD_FAILURE() << part;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
    }
}

TEST(FeedOptions, TheSubscriptionHasItsGoldenBytes) {
    std::string expected = vector("subscribe_feed.json");
    expected.replace(expected.find(R"("depth":"ORDERS")"), 16, R"("depth":"LEVELS")");
    EXPECT_EQ(feed_subscription("127.0.0.1:4000"), expected);
}

} // namespace tickpath::tests
