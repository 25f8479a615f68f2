//===- rounding_test.cpp - Generated code rounds as the reference does ----===//
//
// Tests every upper half of an f32 with lower halves at, below and above the
// ties, bit by bit, with the instructions that this machine has or is limited
// to.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/Cpu/CpuTarget.h"
#include "kernels/float_types.h"
#include "test/codegen/harness.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace mpc::test;
using mpc::kernels::Bf16;
using mpc::kernels::F16;

namespace {

uint32_t bitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

float floatOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// Casts elements, which are passed and returned as bits.
template <typename To, typename From>
std::vector<To> cast(const std::string &from, const std::string &to,
                     const std::vector<From> &elements) {
  std::string size = "tensor<" + std::to_string(elements.size()) + "x";
  std::string source = size + from + ">", result = size + to + ">";
  Compiled compiled("func.func @f(%x: " + source + ") -> " + result +
                    " { %0 = amp.cast %x : " + source + " to " + result +
                    " return %0 : " + result + " }");
  EXPECT_EQ(compiled.kernels.size(), 1u);
  std::vector<To> results(elements.size());
  if (compiled.kernels.size() != 1)
    return results;
  const Kernel &kernel = compiled.kernels[0];
  const void *operands[] = {elements.data(), results.data()};
  reinterpret_cast<void (*)(const void *const *, int64_t, int64_t)>(
      kernel.code)(operands, 0, kernel.items);
  return results;
}

/// 2^20 floats, and one more for a tail of one element.
std::vector<uint32_t> manyFloats() {
  std::vector<uint32_t> floats;
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low :
         {0x0, 0x1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2fff, 0x3000, 0x3001,
          0x7fff, 0x8000, 0x8001, 0xefff, 0xf000, 0xf001, 0xffff})
      floats.push_back(high << 16 | low);
  floats.push_back(0x3f80c000);
  return floats;
}

std::vector<uint16_t> allHalves() {
  std::vector<uint16_t> halves;
  for (uint32_t bits = 0; bits <= 0x10000; ++bits)
    halves.push_back(uint16_t(bits));
  return halves;
}

/// Collects the first few differences, to keep failure messages readable.
class Differences {
public:
  void compare(uint32_t from, uint32_t found, uint32_t wanted) {
    if (found == wanted || ++count > 5)
      return;
    ADD_FAILURE() << std::hex << "0x" << from << " becomes 0x" << found
                  << ", not 0x" << wanted;
  }
  ~Differences() { EXPECT_LE(count, 5u) << "elements differ"; }

private:
  unsigned count = 0;
};

TEST(Rounding, ToBf16IsTheReferences) {
  llvm::Expected<mpc::CpuTarget> target = mpc::findCpuTarget("native");
  ASSERT_TRUE(bool(target));
  // AVX-512 BF16 treats subnormal numbers as zero.
  bool flushes = llvm::is_contained(target->features, "avx512bf16");
  std::vector<uint32_t> floats = manyFloats();
  std::vector<uint16_t> found = cast<uint16_t>("f32", "bf16", floats);
  Differences differences;
  for (size_t i = 0; i < floats.size(); ++i) {
    uint32_t wanted = Bf16::round(floatOf(floats[i]));
    if (flushes && (floats[i] & 0x7f800000) == 0)
      wanted = floats[i] >> 16 & 0x8000;
    differences.compare(floats[i], found[i], wanted);
  }
}

TEST(Rounding, ToF16IsTheReferences) {
  std::vector<uint32_t> floats = manyFloats();
  std::vector<uint16_t> found = cast<uint16_t>("f32", "f16", floats);
  Differences differences;
  for (size_t i = 0; i < floats.size(); ++i)
    differences.compare(floats[i], found[i], F16::round(floatOf(floats[i])));
}

TEST(Rounding, WideningKeepsEveryBit) {
  std::vector<uint16_t> halves = allHalves();
  std::vector<uint32_t> brains = cast<uint32_t>("bf16", "f32", halves);
  std::vector<uint32_t> singles = cast<uint32_t>("f16", "f32", halves);
  Differences differences;
  for (size_t i = 0; i < halves.size(); ++i) {
    differences.compare(halves[i], brains[i], uint32_t(halves[i]) << 16);
    uint32_t wanted = bitsOf(F16::widen(halves[i]));
    // Instructions make signalling NaNs quiet.
    if ((wanted & 0x7fffffff) > 0x7f800000)
      wanted |= 0x400000;
    differences.compare(halves[i], singles[i], wanted);
  }
}

/// Checks all codes of an 8-bit format with the given fraction bits and bias,
/// with or without infinities.
void compareWidening(const char *format, int fraction, int bias,
                     bool hasInfinity) {
  std::vector<uint8_t> codes;
  for (uint32_t code = 0; code <= 0x100; ++code)
    codes.push_back(uint8_t(code));
  std::vector<uint32_t> singles = cast<uint32_t>(format, "f32", codes);
  std::vector<uint16_t> brains = cast<uint16_t>(format, "bf16", codes);
  Differences differences;
  for (size_t i = 0; i < codes.size(); ++i) {
    const int code = codes[i] & 0x7f, ones = (1 << fraction) - 1;
    const int exponent = code >> fraction, part = code & ones;
    float value = exponent == 0 ? std::ldexp(float(part), 1 - bias - fraction)
                                : std::ldexp(float(part + ones + 1),
                                             exponent - bias - fraction);
    if (hasInfinity && exponent == 0x7f >> fraction && part == 0)
      value = INFINITY;
    uint32_t wanted = bitsOf(value);
    if (hasInfinity ? exponent == 0x7f >> fraction && part != 0
                    : code == 0x7f) {
      EXPECT_TRUE(std::isnan(floatOf(singles[i]))) << format << " " << i;
      EXPECT_TRUE(std::isnan(floatOf(uint32_t(brains[i]) << 16))) << i;
      continue;
    }
    wanted |= uint32_t(codes[i] & 0x80) << 24;
    differences.compare(codes[i], singles[i], wanted);
    differences.compare(codes[i], uint32_t(brains[i]) << 16, wanted);
  }
}

TEST(Rounding, WideningE4M3IsExact) {
  compareWidening("f8E4M3FN", 3, 7, false);
}

TEST(Rounding, WideningE5M2IsExact) { compareWidening("f8E5M2", 2, 15, true); }

} // namespace
