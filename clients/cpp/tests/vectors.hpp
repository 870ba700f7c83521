#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tickpath::tests {

/// The path of clients/vectors, from the build.
inline const std::filesystem::path vectors = TICKPATH_VECTORS;

inline std::string file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    EXPECT_TRUE(in.good()) << path;
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::string vector(const std::string& name) { return file(vectors / name); }

/// The files of a folder with this ending.
inline std::vector<std::filesystem::path> files(const std::string& folder, const std::string& suffix) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(vectors / folder)) {
        if (entry.path().string().ends_with(suffix)) {
            found.push_back(entry.path());
        }
    }
    EXPECT_FALSE(found.empty()) << folder;
    return found;
}

} // namespace tickpath::tests
