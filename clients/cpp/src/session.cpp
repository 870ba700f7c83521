#include "session.hpp"

#include "base64.hpp"
#include "error.hpp"
#include "json.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cctype>

namespace tickpath {
namespace {

constexpr std::size_t head_bytes_max = 8192;

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
    return out;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t start = text.find_first_not_of(" \t");
    return start == std::string_view::npos ? "" : text.substr(start, text.find_last_not_of(" \t") + 1 - start);
}

/// The value of a header; empty if it is absent.
std::string header(std::string_view head, std::string_view name) {
    for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
        const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos && lower(line.substr(0, colon)) == name) {
            return std::string(trimmed(line.substr(colon + 1)));
        }
    }
    return "";
}

} // namespace

std::string accept_of(std::string_view key) {
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
        throw Error("OpenSSL has no SHA-1, which the WebSocket handshake needs");
    }
    return base64({reinterpret_cast<const char*>(digest.data()), size});
}

std::string upgrade_request(std::string_view host, std::string_view key) {
    return "GET / HTTP/1.1\r\nHost: " + std::string(host) +
           "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
           std::string(key) + "\r\n\r\n";
}

void check_upgrade_response(std::string_view head, std::string_view key) {
    if (head.substr(0, 7) != "HTTP/1." || head.size() < 12) {
        throw Error("the server's answer is not HTTP");
    }
    if (const std::string_view status = head.substr(9, 3); status != "101") {
        const std::size_t body = head.find("\r\n\r\n");
        const std::string_view words = body == std::string_view::npos ? "" : trimmed(head.substr(body + 4, 300));
        throw Error("the server answered the WebSocket handshake with status " + std::string(status) + ", not 101" +
                    (words.empty() ? "" : ": " + std::string(words.substr(0, words.find('\n')))));
    }
    const bool is_upgrade = lower(header(head, "upgrade")) == "websocket" &&
                            lower(header(head, "connection")).find("upgrade") != std::string::npos;
    if (!is_upgrade) {
        throw Error("the server's answer lacks Upgrade: websocket or Connection: Upgrade");
    }
    if (header(head, "sec-websocket-accept") != accept_of(key)) {
        throw Error("the server's Sec-WebSocket-Accept is not that of the key: it is no WebSocket server");
    }
    if (!header(head, "sec-websocket-extensions").empty() || !header(head, "sec-websocket-protocol").empty()) {
        throw Error("the server chose an extension or a protocol that we did not offer");
    }
}

void LogOn::upgrade(const std::string& target) {
    std::array<char, 16> nonce{};
    for (char& byte : nonce) {
        byte = static_cast<char>(random_.bits());
    }
    const std::string key = base64({nonce.data(), nonce.size()});
    const Deadline deadline = step_deadline();
    try {
        link_.write(upgrade_request(target, key), deadline);
        std::string head;
        std::array<std::uint8_t, 1024> bytes{};
        std::size_t end = std::string::npos;
        while (end == std::string::npos && head.size() < head_bytes_max) {
            const std::size_t n = link_.read(bytes.data(), bytes.size(), deadline);
            if (n == 0) {
                throw Error("the server closed the connection instead of answering the WebSocket handshake");
            }
            head.append(reinterpret_cast<const char*>(bytes.data()), n);
            end = head.find("\r\n\r\n");
        }
        check_upgrade_response(head, key);
        if (end == std::string::npos) {
            throw Error("the server's answer to the handshake is longer than 8192 bytes");
        }
        const std::string rest = head.substr(end + 4);
        std::memcpy(reader_.space(), rest.data(), rest.size());
        reader_.filled(rest.size(), 0);
    } catch (const TimedOut&) {
        throw Error("no answer to the WebSocket handshake within 5 s");
    }
}

std::vector<std::string> LogOn::authenticate(const std::vector<std::uint64_t>& tokens) {
    for (const std::uint64_t token : tokens) {
        ask(R"({"type":"AUTHENTICATE","api_token":")" + std::to_string(token) + "\"}", "AUTHENTICATE", "AUTHENTICATED");
    }
    const Json answer =
        parse_json(ask(R"({"type":"SUBSCRIBE","channels":[{"name":"ORDERS"}]})", "SUBSCRIBE", "SUBSCRIPTIONS"));
    std::vector<std::string> names;
    if (const Json* channels = member(answer, "channels"); channels != nullptr) {
        for (const Json& channel : *channels) {
            if (const Json* name = member(channel, "account_id"); name != nullptr) {
                names.push_back(as_string(*name, "account_id"));
            }
        }
    }
    if (tokens.size() > 1 && names.size() != tokens.size()) {
        throw Error(std::to_string(tokens.size()) +
                    " accounts logged on over one connection, but the exchange knows " +
                    std::to_string(names.size()) + ": give each its own (load.connections = load.accounts)");
    }
    return names;
}

std::string LogOn::ask(const std::string& json, const char* asked, const char* answer) {
    send(json);
    return wait_for(asked, answer);
}

void LogOn::send(const std::string& json) {
    const std::uint64_t bits = random_.bits();
    Mask mask;
    std::memcpy(mask.data(), &bits, mask.size());
    std::vector<std::uint8_t> frame;
    append_frame(frame, Opcode::text, json, mask);
    link_.write({reinterpret_cast<const char*>(frame.data()), frame.size()}, step_deadline());
}

/// Reads until a message of that type arrives.
std::string LogOn::wait_for(const char* asked, const char* type) {
    try {
        return read_until(type);
    } catch (const TimedOut&) {
        throw Error(std::string("no answer to ") + asked + " within 5 s: the server may not know this message");
    } catch (const Error& error) {
        throw Error(std::string(asked) + ": " + error.what());
    }
}

std::string LogOn::read_until(const char* type) {
    const Deadline deadline = step_deadline();
    for (;;) {
        Message message;
        while (reader_.next(message)) {
            if (message.opcode == Opcode::close) {
                const std::string_view reason = message.payload.size() > 2 ? message.payload.substr(2) : "";
                throw Error("the exchange closed the connection: " + std::string(reason));
            }
            if (message.opcode != Opcode::text) {
                continue;
            }
            const Json json = parse_json(message.payload);
            const Json* found = member(json, "type");
            if (found != nullptr && *found == type) {
                return std::string(message.payload);
            }
            if (found != nullptr && *found == "ERROR") {
                const Json* reason = member(json, "reason");
                throw Error("the exchange answers with an error: " +
                            (reason != nullptr ? as_string(*reason, "reason") : "it gives no reason"));
            }
        }
        if (reader_.error() != nullptr) {
            throw Error(reader_.error());
        }
        std::uint8_t* space = reader_.space();
        const std::size_t n = link_.read(space, reader_.space_bytes(), deadline);
        if (n == 0) {
            throw Error("the server closed the connection instead of answering: it may not know this message");
        }
        reader_.filled(n, 0);
    }
}

} // namespace tickpath
