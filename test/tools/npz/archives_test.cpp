// Archives that cost more than their size.

#include "test/tools/npz/files.h"
#include "tools/npz/Npy.h"
#include "tools/npz/Npz.h"

#include <gtest/gtest.h>

#include <zip.h>

#include <sys/resource.h>

using namespace mpc::npz;
using namespace mpc::test;

namespace {

TEST(Npz, EntriesDoNotOverlap) {
  std::vector<std::string> names;
  for (int i = 0; i < 9; ++i)
    names.push_back("x" + std::to_string(i) + ".npy");
  std::vector<char> whole = archiveOf(names, 100000, ZIP_CM_STORE);
  EXPECT_EQ(readError(whole, "x8"), "");
  // Without the contents of the others: nine arrays in the bytes of one.
  std::vector<char> bytes = overlapped(whole);
  std::string mark("PK\x01\x02", 4), end("PK\x05\x06", 4);
  size_t directory =
      std::search(bytes.begin(), bytes.end(), mark.begin(), mark.end()) -
      bytes.begin();
  std::string second("PK\x03\x04", 4);
  size_t first = std::search(bytes.begin() + 4, bytes.end(), second.begin(),
                             second.end()) -
                 bytes.begin();
  bytes.erase(bytes.begin() + first, bytes.begin() + directory);
  size_t tail =
      std::search(bytes.begin(), bytes.end(), end.begin(), end.end()) -
      bytes.begin();
  put(bytes, tail + 16, static_cast<uint32_t>(first));
  EXPECT_EQ(readError(bytes), "its arrays overlap");
}

} // namespace
