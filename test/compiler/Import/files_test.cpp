// Utilities of the importer: opening files and converting numbers.

#include "compiler/Import/File/FileMapping.h"
#include "compiler/Support/HalfFloat.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <fstream>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpc;

namespace {

/// A folder `root/model` with files that a model may read, and `root/secret`,
/// which it must not read.
class Below : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("mpc-below", path));
    root = path.str().str();
    model = root + "/model";
    ASSERT_EQ(mkdir(model.c_str(), 0777), 0);
    ASSERT_EQ(mkdir((model + "/sub").c_str(), 0777), 0);
    write(root + "/secret", "secret");
    write(model + "/weights", "12345678");
    write(model + "/sub/weights", "abc");
    write(model + "/empty", "");
    ASSERT_EQ(symlink("../secret", (model + "/link").c_str()), 0);
    ASSERT_EQ(symlink("..", (model + "/up").c_str()), 0);
    ASSERT_EQ(link((root + "/secret").c_str(), (model + "/hard").c_str()), 0);
    ASSERT_EQ(mkfifo((model + "/pipe").c_str(), 0666), 0);
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }

  static void write(const std::string &path, const std::string &text) {
    std::ofstream(path) << text;
  }

  /// The contents of a location, or "error".
  std::string read(llvm::StringRef location) {
    auto file = FileMapping::openBelow(model, location, GetParam());
    if (!file) {
      message = llvm::toString(file.takeError());
      return "error";
    }
    llvm::ArrayRef<char> bytes = (*file)->bytes();
    return std::string(bytes.begin(), bytes.end());
  }

  std::string root, model, message;
};

TEST_P(Below, ReadsWhatLiesBelow) {
  EXPECT_EQ(read("weights"), "12345678");
  EXPECT_EQ(read("./weights"), "12345678");
  EXPECT_EQ(read("sub/weights"), "abc");
  EXPECT_EQ(read("sub//./weights"), "abc");
  EXPECT_EQ(read("empty"), "");
}

TEST_P(Below, RefusesTheRest) {
  for (const char *location :
       {"", ".", "/", "..", "../secret", "sub/../../secret", "sub/../weights",
        "/etc/passwd", "link", "up/secret", "hard", "pipe", "sub", "absent",
        "weights/x", "/proc/self/root/etc/passwd"})
    EXPECT_EQ(read(location), "error") << location;
  EXPECT_EQ(read(llvm::StringRef("weights\0x", 9)), "error");
  EXPECT_EQ(read(std::string(5000, 'a')), "error");
}

INSTANTIATE_TEST_SUITE_P(Ways, Below, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                           return info.param ? "PartByPart" : "Openat2";
                         });

//===----------------------------------------------------------------------===//
// 16-bit floats, against LLVM
//===----------------------------------------------------------------------===//

uint16_t roundWith(const llvm::fltSemantics &semantics, float value) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return uint16_t(number.bitcastToAPInt().getZExtValue());
}

float widenWith(const llvm::fltSemantics &semantics, uint16_t bits) {
  llvm::APFloat number(semantics, llvm::APInt(16, bits));
  bool losesInfo;
  number.convert(llvm::APFloat::IEEEsingle(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToFloat();
}

TEST(HalfFloat, WidensEveryValue) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    float half = widenWith(llvm::APFloat::IEEEhalf(), bits);
    float bfloat = widenWith(llvm::APFloat::BFloat(), bits);
    if (std::isnan(half))
      EXPECT_TRUE(std::isnan(halfToFloat(bits)));
    else
      EXPECT_EQ(floatToBits(halfToFloat(bits)), floatToBits(half)) << bits;
    if (std::isnan(bfloat))
      EXPECT_TRUE(std::isnan(bfloatToFloat(bits)));
    else
      EXPECT_EQ(floatToBits(bfloatToFloat(bits)), floatToBits(bfloat)) << bits;
  }
}

void expectRounding(float value) {
  uint16_t half = roundWith(llvm::APFloat::IEEEhalf(), value);
  uint16_t bfloat = roundWith(llvm::APFloat::BFloat(), value);
  EXPECT_EQ(floatToHalf(value), half) << value;
  EXPECT_EQ(floatToBfloat(value), bfloat) << value;
}

TEST(HalfFloat, RoundsToNearestEven) {
  // Near every value of each type, and halfway to the next.
  for (uint32_t bits = 0; bits < 0x7c00; ++bits)
    for (float sign : {1.0f, -1.0f}) {
      float value = halfToFloat(bits), next = halfToFloat(bits + 1);
      next = std::isinf(next) ? 65536.0f : next;
      float middle = (value + next) / 2;
      for (float probe : {value, middle, std::nextafter(middle, 0.0f),
                          std::nextafter(middle, next)})
        expectRounding(sign * probe);
    }
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    float value = floatFromBits(random());
    if (!std::isnan(value))
      expectRounding(value);
  }
  expectRounding(INFINITY);
  expectRounding(-INFINITY);
  EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(NAN))));
  EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(NAN))));
}

} // namespace
