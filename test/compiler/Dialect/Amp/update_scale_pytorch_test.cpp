//===- update_scale_pytorch_test.cpp - The scaler against PyTorch ---------===//

#include "test/compiler/Dialect/Amp/update_scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace mpc::test {
namespace {

/// FNV-1a hash of scales and streaks.
class Hash {
public:
  void add(State state) {
    uint32_t bits;
    std::memcpy(&bits, &state.scale, sizeof bits);
    for (uint32_t word : {bits, uint32_t(state.streak)})
      hash = (hash ^ word) * 0x100000001b3;
  }
  uint64_t hash = 0xcbf29ce484222325;
};

/// Uses the patterns of make_update_scale.py in the same order.
void compareWithPyTorch(const Settings &s, uint64_t every, uint64_t random) {
  Machine machine(s);
  Hash hash;
  for (int length = 1; length <= 16; ++length)
    for (uint64_t overflows = 0; overflows < 1u << length; ++overflows)
      hash.add(machine.run({s.start, 0}, overflows, length));
  EXPECT_EQ(hash.hash, every) << "every pattern up to 16, from " << s.start;

  Random draw;
  hash = Hash();
  for (int i = 0; i < 1000000; ++i) {
    uint64_t overflows = draw();
    for (int rarer = draw() % 6; rarer > 0; --rarer)
      overflows &= draw();
    int32_t streak = s.interval - 1 - draw() % std::min(s.interval, 64);
    hash.add(machine.run({s.start, streak}, overflows, 17 + draw() % 48));
  }
  EXPECT_EQ(hash.hash, random) << "a million patterns, from " << s.start;
}

TEST(PyTorch, UpdatesScalesTheSameWay) {
  std::ifstream goldens(MPC_GOLDENS);
  int settings = 0;
  for (std::string line; std::getline(goldens, line);) {
    if (line[0] == '#')
      continue;
    std::istringstream in(line);
    Settings s{};
    s.floor = 0x1p-126f; // PyTorch has no bounds; it never grows to infinity.
    s.ceiling = 0x1p127f;
    uint64_t every, random;
    in >> s.start >> s.growth >> s.backoff >> s.interval >> std::hex >> every >>
        random;
    ASSERT_TRUE(bool(in)) << line;
    compareWithPyTorch(s, every, random);
    ++settings;
  }
  EXPECT_EQ(settings, 4);
}

} // namespace
} // namespace mpc::test
