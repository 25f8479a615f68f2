// The types of Arrow columns, in Parquet and Arrow files.

#include "tools/mpc/Command.h"
#include "tools/mpc/data/sources/Files.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mpc;
using namespace mpc::tool;

namespace {

/// "int8[2] 00ff": type, shape and bytes.
std::string describe(const DataSource &source, const std::string &name) {
  const StoredArray array = readWhole(source, name);
  std::string text = npz::typeText(array) + " ";
  for (uint64_t i = 0; i < array.elements.size(); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x",
                  static_cast<unsigned char>(array.data()[i]));
    text += digits;
  }
  return text;
}

class ArrowTypes : public testing::Test {
protected:
  void SetUp() override {
#ifndef MPC_HAS_ARROW
    GTEST_SKIP() << "built without Apache Arrow";
#endif
  }
};

TEST_F(ArrowTypes, AreReadFromBothKindsOfFiles) {
  const std::pair<const char *, const char *> wanted[] = {
      {"bool", "bool[3] 010001"},
      {"int8", "int8[3] 80007f"},
      {"int16", "int16[3] 00800000ff7f"},
      {"int32", "int32[3] 0000008000000000ffffff7f"},
      {"int64", "int64[3] 00000000000000800000000000000000ffffffffffffff7f"},
      {"uint8", "uint8[3] 0001ff"},
      {"uint16", "uint16[3] 00000100ffff"},
      {"uint32", "uint32[3] 0000000001000000ffffffff"},
      {"uint64", "uint64[3] 00000000000000000100000000000000ffffffffffffffff"},
      {"half", "float16[3] 003800c0007c"},
      {"float", "float32[3] cdcccc3dcaf249f10000c07f"},
      {"double", "float64[3] 9a9999999999b93f9c7500883ce437fe0100000000000000"},
      {"large", "int64[3] 010000000000000000000000000000000100000000000000"},
      {"view", "int64[3] 010000000000000000000000000000000100000000000000"},
      {"digits", "int64[3] 030000000000000001000000000000000200000000000000"},
      {"category", "int64[3] 010000000000000000000000000000000100000000000000"},
      {"numbers", "int64[3] 2c0100000000000007000000000000002c01000000000000"},
      {"fixed", "int8[3,2] 010203040506"},
      {"list", "bool[3,1] 010001"},
      {"nested",
       "int16[3,2,2] 0100020003000400050006000700080009000a000b000c00"},
      {"texts", "int64[3,2] 00000000000000000100000000000000"
                "01000000000000000100000000000000"
                "00000000000000000000000000000000"},
  };
  for (const char *file : {"/types.parquet", "/types.arrow"}) {
    auto source = openArrowFile(std::string(MPC_ARROW_FILES) + file, {});
    EXPECT_EQ(source->names().size(), std::size(wanted) + 1);
    EXPECT_FALSE(source->isTable());
    for (const auto &[name, text] : wanted)
      EXPECT_EQ(describe(*source, name), text) << name << " of " << file;
    EXPECT_EQ(source->classesOf("view"),
              (std::vector<std::string>{"longer than twelve bytes", "short"}));
    EXPECT_TRUE(source->classesOf("digits").empty());
  }
}

TEST_F(ArrowTypes, AreKnownWithoutRows) {
  auto source = openArrowFile(MPC_ARROW_FILES "/empty.arrow", {});
  EXPECT_EQ(describe(*source, "float"), "float32[0] ");
  EXPECT_EQ(describe(*source, "fixed"), "int8[0,2] ");
  EXPECT_EQ(describe(*source, "nested"), "int16[0,0,0] ");
}

TEST_F(ArrowTypes, LabelsOfRowsAreNoColumn) {
  auto source = openArrowFile(MPC_ARROW_FILES "/pandas.parquet", {});
  EXPECT_EQ(source->names(),
            (std::vector<std::string>{"a", "b", "c", "labels"}));
  EXPECT_TRUE(source->isTable());
}

} // namespace
