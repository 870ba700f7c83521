#pragma once

#include "frame.hpp"
#include "plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tickpath {

/// Length of a UUID's text.
constexpr std::size_t client_id_bytes = 36;

/// The client ids of a run: `xxxxxxxx-0000-4000-8000-` and the order's number as 12 hex digits, so
/// that no search is needed from a reply to its stamps.
class ClientIds {
public:
    explicit ClientIds(std::uint32_t nonce);

    /// Writes the id of order `number`.
    void write(std::uint64_t number, std::uint8_t* out) const;

    /// The number in a client id of this run; nullopt for any other text.
    std::optional<std::uint64_t> number(std::string_view client_id) const;

private:
    std::string prefix_;
};

/// An encoded message of one account without the client id. Each order copies it.
class Form {
public:
    /// `json` has a client id at `id_at`.
    Form(std::string json, std::size_t id_at) : json_(std::move(json)), id_at_(id_at) {}

    static Form order(const Load& load, const std::optional<std::string>& account_id,
                      const char* time_in_force = "GOOD_TILL_CANCELLED");
    static Form cancel(const Load& load, const std::optional<std::string>& account_id);

    std::size_t bytes_max() const { return json_.size() + frame_header_bytes_max; }

    /// Writes a masked frame of order `number` to `out`, which has space for `bytes_max`. Returns
    /// its length.
    std::size_t fill(std::uint8_t* out, const ClientIds& ids, std::uint64_t number, Mask mask) const {
        const std::size_t header = write_header(out, Opcode::text, json_.size(), mask);
        std::uint8_t* payload = out + header;
        std::memcpy(payload, json_.data(), json_.size());
        ids.write(number, payload + id_at_);
        apply_mask(payload, json_.size(), mask);
        return header + json_.size();
    }

    const std::string& json() const { return json_; }

private:
    std::string json_;
    std::size_t id_at_;
};

} // namespace tickpath
