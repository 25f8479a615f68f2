// Damaged and forged checkpoints.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"
#include "test/runtime/checkpoint/save.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

// A change of any bit of any file, and any other length, is rejected, and the
// session is unchanged.
TEST(Checkpoint, RefusesEveryDamage) {
  ProgramPtr program = load(make_package());
  Folder folder;
  SessionPtr session = create(program);
  (void)step(session, 1);
  EXPECT_EQ(save(session, folder / "a").code, MPC_OK);
  SessionPtr other = create(program);
  Bytes before = all_states(program, other);
  for (const std::string& name : names_in(folder / "a")) {
    std::string path = folder / ("a/" + name);
    const Bytes whole = read_bytes(path);
    size_t stride = name == "MANIFEST.json" ? 1 : 7;
    for (size_t bit = 0; bit < 8 * whole.size(); bit += stride) {
      Bytes changed = whole;
      changed[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      write_bytes(path, changed);
      mpc_code_t code = restore(other, folder / "a").code;
      ASSERT_TRUE(code == MPC_DAMAGED ||
                  (code == MPC_INCOMPATIBLE && name == "MANIFEST.json"))
          << name << " bit " << bit;
    }
    for (size_t size = whole.size(); size-- > 0;) {
      write_bytes(
          path, Bytes(whole.begin(), whole.begin() + static_cast<long>(size)));
      ASSERT_EQ(restore(other, folder / "a").code, MPC_DAMAGED) << name;
    }
    ASSERT_EQ(unlink(path.c_str()), 0);
    EXPECT_EQ(
        restore(other, folder / "a").message,
        "'" + (folder / "a") + "' is not a complete checkpoint: no " + name);
    write_bytes(path, whole);
  }
  EXPECT_EQ(all_states(program, other), before);
  EXPECT_EQ(restore(other, folder / "a").code, MPC_OK);
  EXPECT_EQ(restore(other, folder / "none").code, MPC_IO);
}

// With valid checksums the parsers see damaged contents: whatever the files
// contain, there is no memory error (checked by the sanitizer build), and a
// checkpoint is loaded completely or not at all.
TEST(Checkpoint, HandlesCorruptContentsWithValidChecksums) {
  ProgramPtr program = load(make_package());
  Folder folder;
  SessionPtr session = create(program);
  (void)step(session, 1);
  ASSERT_EQ(save(session, folder / "a").code, MPC_OK);
  const char* const names[] = {runtime::kModelFile, runtime::kOptimizerFile,
                               runtime::kStateFile};
  std::vector<Bytes> whole;
  for (const char* name : names)
    whole.push_back(read_bytes(folder / "a/" + name));
  SessionPtr other = create(program);
  Bytes before = all_states(program, other);
  std::mt19937 random(1);
  size_t refused = 0, accepted = 0;
  for (int i = 0; i < 6000; ++i) {
    std::vector<Bytes> files = whole;
    Bytes& changed = files[random() % files.size()];
    // After the header of a tensor file, bytes may have any value.
    size_t reach = std::min<size_t>(changed.size(), 700);
    constexpr char kLikely[] = "0123456789\"{}[],:-x\\";
    for (unsigned j = random() % 3 + 1; j > 0; --j) {
      size_t at = random() % reach;
      switch (random() % 4) {
        case 0:
          changed[at] = static_cast<uint8_t>(random());
          break;
        case 1:
          changed[at] =
              static_cast<uint8_t>(kLikely[random() % (sizeof(kLikely) - 1)]);
          break;
        case 2:
          changed.erase(changed.begin() + static_cast<long>(at));
          break;
        default:
          changed.insert(changed.begin() + static_cast<long>(at), changed[at]);
      }
      reach = std::min(reach, changed.size());
    }
    std::vector<runtime::FileRecord> records;
    for (size_t k = 0; k < files.size(); ++k) {
      write_bytes(folder / "a/" + names[k], files[k]);
      records.push_back({names[k], files[k].size(),
                         runtime::checksum(files[k].data(), files[k].size())});
    }
    std::string manifest = runtime::manifest_text(records);
    write_bytes(folder / "a/" + runtime::kManifestFile,
                Bytes(manifest.begin(), manifest.end()));
    mpc_code_t code = restore(other, folder / "a").code;
    uint64_t bytes;
    Outcome verified = take(runtime::verify_checkpoint(runtime::system_files(),
                                                       folder / "a", &bytes));
    ASSERT_EQ(verified.code, code == MPC_DAMAGED ? MPC_DAMAGED : MPC_OK)
        << verified.message;
    if (code == MPC_OK) {
      ++accepted;
      other = create(program);
      continue;
    }
    ++refused;
    ASSERT_TRUE(code == MPC_DAMAGED || code == MPC_INCOMPATIBLE) << code;
    ASSERT_EQ(all_states(program, other), before);
  }
  EXPECT_GT(refused, accepted);
  EXPECT_GT(accepted, 0u);  // Names of properties and values may change.
}

}  // namespace
}  // namespace mpc::test
