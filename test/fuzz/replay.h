// Runs a target on every file of its corpus.

#ifndef MPC_TEST_FUZZ_REPLAY_H
#define MPC_TEST_FUZZ_REPLAY_H

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace mpc::fuzz {

inline void replay(const std::string &corpus,
                   void (*target)(const uint8_t *data, size_t size)) {
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(corpus)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    target(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
    ++files;
  }
  EXPECT_GT(files, 3u) << corpus;
}

} // namespace mpc::fuzz

#endif // MPC_TEST_FUZZ_REPLAY_H
