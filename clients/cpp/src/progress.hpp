#pragma once

#include "recorder.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tickpath {

/// Progress lines of a run, one a second, as clients/CONTRACT.md describes them. Used off the
/// measuring thread.
class ProgressLines {
public:
    explicit ProgressLines(Model model) : model_(model) {}

    /// The line of JSON for an interval; nullopt for the fragment at the end of a run.
    std::optional<std::string> line(const Interval& interval);

private:
    Model model_;
    std::optional<std::uint64_t> first_ns_;
};

/// The bucket of a latency: bucket i holds those above 2^((i-1)/8) s, up to 2^(i/8) s. One of less
/// than 1 ns counts as 1 ns.
int bucket(std::uint64_t ns);

/// Keeps the calling thread off the measured core. False if there is no other core.
bool keep_off(std::size_t core);

} // namespace tickpath
