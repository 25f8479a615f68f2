// Files that are damaged in any way are refused or read, and nothing else.

#include "test/fuzz/replay.h"
#include "test/fuzz/targets.h"

#include <random>

namespace {

TEST(HostileData, CorpusIsReadOrRefused) {
  mpc::fuzz::replay(MPC_FUZZ_CORPORA "/data", mpc::fuzz::data);
}

/// Changes, removes and repeats bytes of each file of the corpus.
TEST(HostileData, ChangedBytesAreReadOrRefused) {
  std::mt19937 random(1);
  for (const auto &entry :
       std::filesystem::directory_iterator(MPC_FUZZ_CORPORA "/data")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    ASSERT_GT(bytes.size(), 1u) << entry.path();
    for (int i = 0; i < 300; ++i) {
      std::vector<char> changed = bytes;
      for (uint32_t changes = random() % 4 + 1; changes > 0; --changes) {
        size_t at = 1 + random() % (changed.size() - 1);
        switch (random() % 4) {
        case 0:
          changed[at] = static_cast<char>(random());
          break;
        case 1:
          changed[at] ^= static_cast<char>(1 << random() % 8);
          break;
        case 2:
          changed.resize(std::max<size_t>(at, 2));
          break;
        default:
          changed.insert(changed.begin() + at, changed.begin() + at / 2 + 1,
                         changed.begin() + at);
        }
      }
      mpc::fuzz::data(reinterpret_cast<const uint8_t *>(changed.data()),
                      changed.size());
    }
  }
}

} // namespace
