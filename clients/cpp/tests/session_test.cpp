// The upgrade to a WebSocket.

#include "session.hpp"

#include "vectors.hpp"

namespace tickpath::tests {

TEST(LogOns, TheUpgradeHasItsGoldenBytes) {
    EXPECT_EQ(upgrade_request("127.0.0.1:8888", "dGhlIHNhbXBsZSBub25jZQ=="), vector("upgrade_request.http"));
}

TEST(LogOns, TheAnswerToTheUpgradeIsChecked) {
    const std::string good = vector("upgrade_response.http");
    const std::string key = "dGhlIHNhbXBsZSBub25jZQ==";
    check_upgrade_response(good, key);
    for (const auto& [from, to] : {std::pair("101", "503"), std::pair("HTTP", "SMTP"), std::pair("s3pPLM", "s3pPLN"),
                                   std::pair("Upgrade: websocket", "Upgrade: other"),
                                   std::pair("Connection: Upgrade", "Connection: close")}) {
        std::string bad = good;
        bad.replace(bad.find(from), std::string(from).size(), to);
        EXPECT_THROW(check_upgrade_response(bad, key), std::exception) << to;
    }
    EXPECT_THROW(check_upgrade_response("", key), std::exception);
}

} // namespace tickpath::tests
