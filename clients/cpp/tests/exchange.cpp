#include "exchange.hpp"

#include "feeds.hpp"
#include "session.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace tickpath::tests {

// Only the test of allocations has one that does something.
[[gnu::weak]] void exclude_this_thread() {}

namespace {

std::string server_frame(const std::string& payload, char opcode = 1) {
    std::string out(1, static_cast<char>(0x80 | opcode));
    if (payload.size() < 126) {
        out.push_back(static_cast<char>(payload.size()));
    } else {
        out.push_back(126);
        out.push_back(static_cast<char>(payload.size() >> 8));
        out.push_back(static_cast<char>(payload.size()));
    }
    return out + payload;
}

std::string value(const std::string& text, const std::string& key) {
    const std::size_t start = text.find("\"" + key + "\":\"") + key.size() + 4;
    return text.substr(start, text.find('"', start) - start);
}

} // namespace

Exchange::Exchange(Script script)
    : script_(std::move(script)), listener_(socket(AF_INET, SOCK_STREAM, 0)),
      feed_socket_(socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, raw, size) != 0 || listen(listener_, 64) != 0 || getsockname(listener_, raw, &size) != 0) {
        throw std::runtime_error("cannot listen on loopback");
    }
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
}

Exchange::~Exchange() {
    stop_ = true;
    thread_.join();
    close(listener_);
    close(feed_socket_);
}

void Exchange::serve() {
    exclude_this_thread();
    std::vector<Connection> connections;
    while (!stop_) {
        std::vector<pollfd> asked = {{listener_, POLLIN, 0}};
        for (const Connection& connection : connections) {
            asked.push_back({connection.socket, POLLIN, 0});
        }
        if (poll(asked.data(), asked.size(), 20) <= 0) {
            for (const Connection& connection : connections) {
                if (connection.feed_port != 0 && script_.fault != Fault::is_silent) {
                    tick(connection);
                }
            }
            continue;
        }
        for (std::size_t i = connections.size(); i > 0; --i) {
            if (asked[i].revents != 0 && !read(connections[i - 1])) {
                close(connections[i - 1].socket);
                connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(i) - 1);
            }
        }
        if (asked[0].revents != 0) {
            Connection& connection = connections.emplace_back();
            connection.socket = accept(listener_, nullptr, nullptr);
            const int yes = 1;
            setsockopt(connection.socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        }
    }
    for (const Connection& connection : connections) {
        close(connection.socket);
    }
}

/// False if the connection has ended.
bool Exchange::read(Connection& connection) {
    char bytes[65536];
    const ssize_t n = recv(connection.socket, bytes, sizeof bytes, 0);
    if (n <= 0) {
        return false;
    }
    connection.bytes.append(bytes, static_cast<std::size_t>(n));
    if (!connection.is_upgraded && connection.bytes[0] == '\0') {
        return read_sbe(connection);
    }
    if (!connection.is_upgraded) {
        const std::size_t end = connection.bytes.find("\r\n\r\n");
        if (end == std::string::npos) {
            return true;
        }
        const std::size_t key = connection.bytes.find("Key: ") + 5;
        send(connection, "HTTP/1.1 " + script_.status +
                             "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
                             accept_of(connection.bytes.substr(key, 24)) + "\r\n\r\n");
        connection.bytes.erase(0, end + 4);
        connection.is_upgraded = true;
    }
    while (connection.bytes.size() >= 6) {
        const std::size_t before = connection.bytes.size();
        if (!take_frame(connection)) {
            return false;
        }
        if (connection.bytes.size() == before) {
            break;
        }
    }
    return true;
}

/// Takes a masked frame, if it is complete.
bool Exchange::take_frame(Connection& connection) {
    const std::string& bytes = connection.bytes;
    const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    const bool is_long = (at(1) & 0x7f) == 126;
    const std::size_t length = is_long ? static_cast<std::size_t>(at(2) << 8 | at(3)) : at(1) & 0x7fU;
    const std::size_t header = is_long ? 8 : 6;
    if (bytes.size() < header + length) {
        return true;
    }
    Mask mask = {at(header - 4), at(header - 3), at(header - 2), at(header - 1)};
    std::string text = bytes.substr(header, length);
    apply_mask(reinterpret_cast<std::uint8_t*>(text.data()), length, mask);
    const bool is_pong = (at(0) & 0x0f) == 10;
    connection.bytes.erase(0, header + length);
    if (is_pong) {
        ++pongs_;
        return true;
    }
    return answer(connection, text);
}

bool Exchange::answer(Connection& connection, const std::string& text) {
    const std::string type = value(text, "type");
    if (type == "AUTHENTICATE") {
        connection.tokens.push_back(value(text, "api_token"));
        send(connection, server_frame(R"({"type":"AUTHENTICATED"})"));
    } else if (type == "SUBSCRIBE") {
        subscribe(connection, text);
    } else if (connection.feed_port != 0) {
        return answer_follower(connection, type, text);
    } else {
        const bool is_order = type == "CREATE_ORDER";
        if (!take_order(connection, is_order)) {
            return false;
        }
        if (!is_due() || script_.fault != Fault::is_silent) {
            acknowledge(connection, text, is_order);
        }
    }
    return true;
}

/// Counts a message. False if the connection ends here.
bool Exchange::take_order(const Connection& connection, bool is_order) {
    ++(is_order ? orders_ : cancels_);
    if (is_order && script_.watch != nullptr) {
        script_.watch(orders_);
    }
    if (is_due() && script_.fault == Fault::resets) {
        const linger now = {1, 0};
        setsockopt(connection.socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    return !is_due() || (script_.fault != Fault::resets && script_.fault != Fault::closes);
}

void Exchange::subscribe(Connection& connection, const std::string& text) {
    std::string channels;
    for (const std::string& token : connection.tokens) {
        channels += (channels.empty() ? "" : ",") + (R"({"account_id":")" + token + R"(","name":"ORDERS"})");
    }
    if (text.find("FEED") != std::string::npos) {
        const std::string address = value(text, "address");
        connection.feed_port = static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1)));
        channels += R"(,{"name":"FEED","session":")" + std::to_string(session) + "\"}";
    }
    send(connection, server_frame(R"({"channels":[)" + channels + R"(],"time":1,"type":"SUBSCRIPTIONS"})"));
}

bool Exchange::answer_follower(Connection& connection, const std::string& type, const std::string& text) {
    if (type == "FEED_SNAPSHOT") {
        for (const Datagram& part : snapshot(feed_sequence_)) {
            send_datagram(connection, part);
        }
    } else if (type == "FEED_REPLAY") {
        const std::uint64_t from = std::stoull(text.substr(text.find("\"from\":") + 7));
        send_datagram(connection, levels(from, {{101, 1}}, feed::Kind::REPLAY));
    } else {
        if (++orders_; script_.watch != nullptr) {
            script_.watch(orders_);
        }
        send(connection, server_frame(R"({"client_id":")" + value(text, "client_id") +
                                      R"(","status":"EXPIRED","type":"DONE"})"));
    }
    tick(connection);
    return true;
}

void Exchange::tick(const Connection& connection) {
    const std::uint64_t number = feed_sequence_++;
    if (script_.loses_every > 0 && number % script_.loses_every == 0) {
        return tick(connection);
    }
    send_datagram(connection, levels(number, {{101, number}}));
}

void Exchange::send_datagram(const Connection& connection, const Datagram& datagram) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(connection.feed_port);
    sendto(feed_socket_, datagram.data(), datagram.size(), 0, reinterpret_cast<sockaddr*>(&address), sizeof address);
}

void Exchange::acknowledge(const Connection& connection, const std::string& text, bool is_order) {
    std::string id = value(text, "client_id");
    if (is_due() && script_.fault == Fault::sends_malformed_json) {
        return send(connection, server_frame(R"({"type":"BOOKED","client_id")"));
    }
    if (is_due() && script_.fault == Fault::sends_foreign_replies) {
        send(connection, server_frame(R"({"type":"BOOKED","client_id":"nobody"})"));
        send(connection, server_frame(R"({"type":"LATER"})"));
    }
    std::string body = is_order ? R"("type":"BOOKED")" : R"("status":"CANCELLED","type":"DONE")";
    if (is_due() && script_.fault == Fault::rejects) {
        body = R"("type":"REJECTED","reason":"closed")";
    }
    if (!script_.is_odd) {
        return send(connection, server_frame(R"({"client_id":")" + id + "\"," + body + "}"));
    }
    const std::string frame = server_frame("hi", 9) + server_frame(R"({"later":[{"client_id":"no"}], )" + body +
                                                                   R"(, "client_id":")" + id + "\" }");
    send_in_halves(connection, frame);
}

void Exchange::send_in_halves(const Connection& connection, const std::string& bytes) {
    const std::size_t half = bytes.size() / 2;
    send(connection, bytes.substr(0, half));
    send(connection, bytes.substr(half));
}

void Exchange::send(const Connection& connection, const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const ssize_t n = ::send(connection.socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        sent += static_cast<std::size_t>(n);
    }
}

} // namespace tickpath::tests
