#pragma once

#include "connection.hpp"
#include "frame.hpp"
#include "schedule.hpp"

#include <array>
#include <string>
#include <vector>

namespace tickpath {

/// The server's answer to the key of an upgrade (RFC 6455, section 1.3).
std::string accept_of(std::string_view key);

/// The request for the upgrade to a WebSocket.
std::string upgrade_request(std::string_view host, std::string_view key);

/// Checks the head of a server's answer. Throws Error with the reason if it is wrong.
void check_upgrade_response(std::string_view head, std::string_view key);

/// The log-on of one connection: upgrade, authentication, subscription. Bytes that follow it stay
/// in `reader`.
class LogOn {
public:
    LogOn(Link& link, MessageReader& reader, std::uint64_t seed) : link_(link), reader_(reader), random_(seed) {}

    void upgrade(const std::string& target);

    /// Authenticates the accounts in order, and subscribes. Returns their names in the same order,
    /// if there are several.
    std::vector<std::string> authenticate(const std::vector<std::uint64_t>& tokens);

    /// Sends a message, and returns the first one of type `answer`. Errors name the message by
    /// `asked`.
    std::string ask(const std::string& json, const char* asked, const char* answer);

private:
    void send(const std::string& json);
    std::string wait_for(const char* asked, const char* type);
    std::string read_until(const char* type);

    Link& link_;
    MessageReader& reader_;
    SplitMix64 random_;
};

} // namespace tickpath
