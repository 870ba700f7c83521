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
    /// Any other message.
    other,
};

/// The values of a reply that a client of the contract needs; views into the message.
struct Reply {
    ReplyKind kind = ReplyKind::other;
    std::string_view type;
    /// Empty if absent. Escapes are decoded, up to 64 bytes.
    std::string_view client_id;
    std::string_view status;
    /// With its escapes.
    std::string_view reason;
    /// Space for decoded strings.
    std::array<std::array<char, 64>, 3> decoded;
};

/// Decodes a message from the exchange, in one pass, without a copy or an allocation. Keys may come
/// in any order; unknown keys are ignored, `null` counts as absent.
///
/// simdjson is as fast on these lengths, but accepts some malformed messages:
/// docs/decisions/017-client-in-cpp.md.
///
/// Returns nullptr, or an error message: not UTF-8, malformed JSON, no type, a key that comes twice
/// or has the wrong type, an ack without a client id.
const char* decode_reply(std::string_view message, Reply& reply);

} // namespace tickpath
