#pragma once

#include <array>
#include <string_view>

namespace tickpath {

enum class ReplyKind {
    /// The order rests.
    booked,
    /// The order is cancelled.
    cancelled,
    rejected,
    authenticated,
    subscriptions,
    error,
    /// Any other message, known to the exchange or not.
    other,
};

/// The keys of a reply that a client of the contract needs; views into the message.
struct Reply {
    ReplyKind kind = ReplyKind::other;
    std::string_view type;
    /// Empty if absent. As it was sent, unless it has escapes; then it is decoded up to 64 bytes.
    std::string_view client_id;
    std::string_view status;
    /// As it was sent, with its escapes.
    std::string_view reason;
    /// Room for decoded texts.
    std::array<std::array<char, 64>, 3> decoded;
};

/// Decodes a message from the exchange, in one pass, without a copy or an allocation. Keys may come
/// in any order; unknown keys are ignored, `null` counts as absent.
///
/// simdjson is as fast on these lengths and accepts some of what is malformed:
/// docs/decisions/017-client-in-cpp.md.
///
/// Returns nullptr, or what is wrong: not UTF-8, malformed JSON, no type, a key that comes twice or
/// is of the wrong kind, an ack without a client id.
const char* decode_reply(std::string_view message, Reply& reply);

} // namespace tickpath
