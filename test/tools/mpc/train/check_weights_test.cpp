// Finding weights of a checkpoint that are not finite.

#include "test/runtime/package.h"
#include "tools/mpc/training/CheckWeights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

using namespace mpc;

namespace {

/// Writes model.safetensors with two tensors to `folder`.
void writeModel(const test::Folder &folder, const std::vector<float> &a,
                const std::vector<double> &b) {
  size_t middle = a.size() * sizeof(float);
  size_t end = middle + b.size() * sizeof(double);
  std::string header =
      R"({"__metadata__":{"format":"pt"},)"
      R"("a":{"dtype":"F32","shape":[)" +
      std::to_string(a.size()) + R"(],"data_offsets":[0,)" +
      std::to_string(middle) + R"(]},"b":{"dtype":"F64","shape":[)" +
      std::to_string(b.size()) + R"(],"data_offsets":[)" +
      std::to_string(middle) + "," + std::to_string(end) + "]}}";
  uint64_t length = header.size();
  test::Bytes bytes(sizeof(length) + header.size() + end);
  std::memcpy(bytes.data(), &length, sizeof(length));
  std::memcpy(bytes.data() + sizeof(length), header.data(), header.size());
  uint8_t *data = bytes.data() + sizeof(length) + header.size();
  std::memcpy(data, a.data(), middle);
  std::memcpy(data + middle, b.data(), end - middle);
  test::write_bytes(folder / "model.safetensors", bytes);
}

std::string find(const test::Folder &folder) {
  return tool::findNonFiniteWeight(folder.path());
}

TEST(CheckWeights, NamesTheTensor) {
  test::Folder folder;
  writeModel(folder, {1, -3e38f}, {1e300, 0});
  EXPECT_EQ(find(folder), "");
  writeModel(folder, {1, NAN}, {1, 2});
  EXPECT_EQ(find(folder), "'a' holds nan; use --allow-non-finite to accept it");
  writeModel(folder, {1, 2}, {1, -INFINITY});
  EXPECT_EQ(find(folder), "'b' holds inf; use --allow-non-finite to accept it");
}

TEST(CheckWeights, ChecksAllPieces) {
  test::Folder folder;
  std::vector<float> many((1 << 20) + 3, 1.0f);
  many.back() = INFINITY;
  writeModel(folder, many, {});
  EXPECT_EQ(find(folder), "'a' holds inf; use --allow-non-finite to accept it");
  many.front() = NAN;
  writeModel(folder, many, {});
  EXPECT_EQ(find(folder), "'a' holds nan; use --allow-non-finite to accept it");
}

TEST(CheckWeights, ReportsUnreadableFiles) {
  test::Folder folder;
  EXPECT_EQ(find(folder), "'model.safetensors' cannot be read");
  writeModel(folder, {1}, {2});
  std::string path = folder / "model.safetensors";
  for (size_t size : {12, 8, 7, 0}) {
    std::filesystem::resize_file(path, size);
    EXPECT_EQ(find(folder), size < 8 ? "'model.safetensors' cannot be read"
                                     : "'model.safetensors' has no header");
  }
}

} // namespace
