//===- every_float_test.cpp - All 2^32 floats rounded to 16 bit -----------===//
//
// By generated code, by the kernels' reference and by the compiler, against
// integer arithmetic of its own, bit by bit. A block of floats has one sign and
// one exponent, so that the reference is a few instructions that vectorise; a
// part of the blocks is enough from day to day (MPC_EVERY_FLOAT=1: all;
// rounding_test.cpp has the neighbours of all ties).
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/HalfFloat.h"
#include "compiler/Target/CpuTarget.h"
#include "kernels/float_types.h"
#include "test/codegen/harness.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

using namespace mpc::test;

namespace {

constexpr uint32_t kBlock = 1 << 17;
constexpr uint32_t kBlocks = 1 << 15;

/// Drops the last `shift` bits of a number: to nearest, ties to even.
uint32_t dropBits(uint32_t number, uint32_t shift) {
  return (number + (1u << (shift - 1)) - 1 + (number >> shift & 1)) >> shift;
}

/// The upper half; of a NaN with the bit that makes it quiet.
void roundToBf16(uint32_t first, std::vector<uint16_t> &out, bool flushes) {
  uint32_t exponent = first >> 23 & 0xff;
  for (uint32_t i = 0; i < kBlock; ++i) {
    uint32_t bits = first + i;
    bool isNan = exponent == 0xff && (bits & 0x7fffff) != 0;
    uint32_t to = isNan ? bits >> 16 | 0x40 : dropBits(bits, 16);
    out[i] = exponent == 0 && flushes ? bits >> 16 & 0x8000 : to;
  }
}

/// 2^(exponent - 127) times 1.fraction in units of 2^-24, the smallest f16, or
/// of that of its own exponent.
void roundToF16(uint32_t first, std::vector<uint16_t> &out) {
  uint32_t exponent = first >> 23 & 0xff, sign = first >> 16 & 0x8000;
  for (uint32_t i = 0; i < kBlock; ++i) {
    uint32_t fraction = (first + i) & 0x7fffff, number = fraction | 0x800000;
    uint32_t to;
    if (exponent == 0xff)
      to = fraction ? 0x7e00 | fraction >> 13 : 0x7c00;
    else if (exponent > 127 + 15)
      to = 0x7c00;
    else if (exponent >= 127 - 14) // A carry makes the next exponent, or inf.
      to = (exponent - 113) * 0x400 + dropBits(number, 13);
    else if (exponent >= 127 - 25)
      to = dropBits(number, 126 - exponent);
    else
      to = 0;
    out[i] = sign | to;
  }
}

/// The generated cast of a block, called again and again.
class Cast {
public:
  explicit Cast(const std::string &to)
      : compiled("func.func @f(%x: tensor<131072xf32>) -> tensor<131072x" + to +
                 "> { %0 = amp.cast %x : tensor<131072xf32> to "
                 "tensor<131072x" +
                 to + "> return %0 : tensor<131072x" + to + "> }") {}

  bool isReady() const { return compiled.kernels.size() == 1; }

  void operator()(const std::vector<uint32_t> &in,
                  std::vector<uint16_t> &out) const {
    const Kernel &kernel = compiled.kernels[0];
    const void *operands[] = {in.data(), out.data()};
    reinterpret_cast<void (*)(const void *const *, int64_t, int64_t)>(
        kernel.code)(operands, 0, kernel.items);
  }

private:
  Compiled compiled;
};

/// What rounds a block.
using Rounding =
    std::function<void(const std::vector<uint32_t> &, std::vector<uint16_t> &)>;

/// A function of one number.
template <typename Round> Rounding one(Round round) {
  return [=](const std::vector<uint32_t> &in, std::vector<uint16_t> &out) {
    for (uint32_t i = 0; i < kBlock; ++i)
      out[i] = round(mpc::floatFromBits(in[i]));
  };
}

void compare(const Rounding &rounding, bool isBf16, bool flushes = false) {
  // Odd, so that every exponent gets blocks from all over.
  const uint32_t stride = getenv("MPC_EVERY_FLOAT") ? 1 : 31;
  std::vector<uint32_t> floats(kBlock);
  std::vector<uint16_t> found(kBlock), wanted(kBlock);
  for (uint32_t block = 0; block < kBlocks; block += stride) {
    const uint32_t first = block * kBlock;
    for (uint32_t i = 0; i < kBlock; ++i)
      floats[i] = first + i;
    rounding(floats, found);
    if (isBf16)
      roundToBf16(first, wanted, flushes);
    else
      roundToF16(first, wanted);
    if (found == wanted)
      continue;
    for (uint32_t i = 0; i < kBlock; ++i)
      ASSERT_EQ(found[i], wanted[i]) << "of bits " << first + i;
  }
}

TEST(EveryFloat, ToBf16) {
  llvm::Expected<mpc::CpuTarget> target = mpc::findCpuTarget("native");
  ASSERT_TRUE(bool(target));
  Cast cast("bf16");
  ASSERT_TRUE(cast.isReady());
  // AVX-512 BF16 takes subnormal numbers for zero.
  compare(std::cref(cast), true,
          llvm::is_contained(target->features, "avx512bf16"));
}

TEST(EveryFloat, ToF16) {
  Cast cast("f16");
  ASSERT_TRUE(cast.isReady());
  compare(std::cref(cast), false);
}

TEST(EveryFloat, ToBf16ByTheReference) {
  compare(one(mpc::kernels::Bf16::round), true);
}

TEST(EveryFloat, ToF16ByTheReference) {
  compare(one(mpc::kernels::F16::round), false);
}

TEST(EveryFloat, ToBf16ByTheCompiler) {
  compare(one(mpc::floatToBfloat), true);
}

TEST(EveryFloat, ToF16ByTheCompiler) { compare(one(mpc::floatToHalf), false); }

} // namespace
