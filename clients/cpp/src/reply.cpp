#include "reply.hpp"

#include "scanner.hpp"

namespace tickpath {
namespace {

/// The value of a known key; nullptr for an unknown one.
std::string_view* place(Reply& reply, std::string_view key) {
    switch (key.size()) {
    case 4:
        return key == "type" ? &reply.type : nullptr;
    case 6:
        return key == "status" ? &reply.status : key == "reason" ? &reply.reason : nullptr;
    case 9:
        return key == "client_id" ? &reply.client_id : nullptr;
    default:
        return nullptr;
    }
}

/// Reads the value of a known key. Returns an error message, or nullptr.
const char* known_value(Scanner& scanner, Reply& reply, std::string_view& value) {
    if (value.data() != nullptr) {
        return "a key comes twice";
    }
    if (scanner.peek() != '"') {
        if (scanner.null()) {
            return nullptr;
        }
        return scanner.skip() ? "a key is not a string" : "malformed JSON";
    }
    bool has_escapes = false;
    if (!scanner.string(value, has_escapes)) {
        return "malformed JSON";
    }
    if (has_escapes && &value != &reply.reason) {
        const std::size_t room = &value == &reply.type ? 0 : &value == &reply.status ? 1 : 2;
        value = unescaped(value, reply.decoded[room].data(), reply.decoded[room].size());
    }
    return nullptr;
}

const char* members(Scanner& scanner, Reply& reply) {
    if (scanner.take('}')) {
        return nullptr;
    }
    do {
        std::string_view key;
        bool has_escapes = false;
        char room[16];
        if (!scanner.string(key, has_escapes)) {
            return "malformed JSON";
        }
        if (has_escapes) {
            key = unescaped(key, room, sizeof room);
        }
        if (!scanner.take(':')) {
            return "malformed JSON";
        }
        if (std::string_view* value = place(reply, key); value != nullptr) {
            if (const char* wrong = known_value(scanner, reply, *value); wrong != nullptr) {
                return wrong;
            }
        } else if (!scanner.skip()) {
            return "malformed JSON";
        }
    } while (scanner.take(','));
    return scanner.take('}') ? nullptr : "malformed JSON";
}

const char* classify(Reply& reply) {
    const std::string_view type = reply.type;
    if (type == "BOOKED") {
        reply.kind = ReplyKind::booked;
    } else if (type == "DONE") {
        if (reply.status.empty()) {
            return "a DONE has no status";
        }
        reply.kind = reply.status == "CANCELLED" ? ReplyKind::cancelled : ReplyKind::other;
    } else if (type == "REJECTED") {
        reply.kind = ReplyKind::rejected;
    } else if (type == "AUTHENTICATED") {
        reply.kind = ReplyKind::authenticated;
    } else if (type == "SUBSCRIPTIONS") {
        reply.kind = ReplyKind::subscriptions;
    } else if (type == "ERROR") {
        reply.kind = ReplyKind::error;
    } else {
        return type.empty() ? "a message has no type" : nullptr;
    }
    const bool needs_id = reply.kind == ReplyKind::booked || type == "DONE" || type == "REJECTED";
    return needs_id && reply.client_id.empty() ? "a message about an order has no client_id" : nullptr;
}

} // namespace

const char* decode_reply(std::string_view message, Reply& reply) {
    reply.kind = ReplyKind::other;
    reply.type = reply.client_id = reply.status = reply.reason = {};
    if (!is_ascii(message) && !is_utf8(message)) {
        return "a text message is not UTF-8";
    }
    Scanner scanner(message);
    if (!scanner.take('{')) {
        return "malformed JSON";
    }
    if (const char* wrong = members(scanner, reply); wrong != nullptr) {
        return wrong;
    }
    scanner.spaces();
    return scanner.is_at_end() ? classify(reply) : "malformed JSON";
}

} // namespace tickpath
