//===- every_float_test.cpp - All 2^32 floats rounded to 16 and 8 bit -----===//
//
// Compares generated code, the kernels' reference and the compiler bit by bit
// with a separate implementation in integer arithmetic. The floats of a block
// share sign and exponent, so that the reference is a few instructions that
// vectorise. By default only a part of the blocks is tested (MPC_EVERY_FLOAT=1:
// all); rounding_test.cpp tests the neighbours of all ties.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/HalfFloat.h"
#include "compiler/Target/Cpu/CpuTarget.h"
#include "kernels/float_types.h"
#include "test/codegen/harness.h"
#include "test/device_sim/abi.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

using namespace mpc::test;

namespace {

constexpr uint32_t kBlock = 1 << 17;
constexpr uint32_t kBlocks = 1 << 15;

/// Drops the last `shift` bits of a number, rounding to nearest, ties to even.
uint32_t dropBits(uint32_t number, uint32_t shift) {
  return (number + (1u << (shift - 1)) - 1 + (number >> shift & 1)) >> shift;
}

/// The upper half; NaNs become quiet.
void roundToBf16(uint32_t first, std::vector<uint16_t> &out, bool flushes) {
  uint32_t exponent = first >> 23 & 0xff;
  for (uint32_t i = 0; i < kBlock; ++i) {
    uint32_t bits = first + i;
    bool isNan = exponent == 0xff && (bits & 0x7fffff) != 0;
    uint32_t to = isNan ? bits >> 16 | 0x40 : dropBits(bits, 16);
    out[i] = exponent == 0 && flushes ? bits >> 16 & 0x8000 : to;
  }
}

/// Computes 2^(exponent - 127) * 1.fraction in units of 2^-24, the smallest
/// f16, or of the last place of its exponent.
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

/// An 8-bit format, described by the width of its fraction and its bias.
struct Fp8 {
  const char *name;
  uint32_t fraction, bias, largest;
};
const Fp8 kE4M3 = {"f8E4M3FN", 3, 7, 0x7e}, kE5M2 = {"f8E5M2", 2, 15, 0x7b};

/// Like roundToF16, but saturates numbers that are too large, and makes every
/// NaN the NaN without a sign.
void roundToFp8(uint32_t first, std::vector<uint16_t> &out, const Fp8 &format) {
  const uint32_t exponent = first >> 23 & 0xff, sign = first >> 24 & 0x80;
  const uint32_t least = 128 - format.bias; // Smallest normal number.
  const uint32_t drop = 23 - format.fraction;
  for (uint32_t i = 0; i < kBlock; ++i) {
    const uint32_t number = ((first + i) & 0x7fffff) | 0x800000;
    uint32_t to;
    if (exponent == 0xff) {
      out[i] = 0x7f;
      continue;
    }
    if (exponent >= least)
      to = std::min((exponent - least) * (1u << format.fraction) +
                        dropBits(number, drop),
                    format.largest);
    else if (exponent + format.fraction + 1 >= least)
      to = dropBits(number, drop + least - exponent);
    else
      to = 0;
    out[i] = sign | to;
  }
}

/// The generated cast of a block; reusable.
class Cast {
public:
  explicit Cast(const std::string &to)
      : compiled("func.func @f(%x: tensor<131072xf32>) -> tensor<131072x" + to +
                 "> { %0 = amp.cast %x : tensor<131072xf32> to tensor<131072x" +
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

/// The generated rounding of a block to 8 bits, for a CPU or for a simulated
/// GPU with `features`.
class Quantize {
public:
  explicit Quantize(const std::string &to, llvm::StringRef device = "cpu",
                    std::vector<std::string> features = {})
      : compiled("func.func @f(%x: tensor<131072xf32>, %s: tensor<f32>) -> "
                 "tensor<131072x" +
                     to +
                     "> { %0 = amp.quantize %x by %s : tensor<131072xf32> to "
                     "tensor<131072x" +
                     to + "> return %0 : tensor<131072x" + to + "> }",
                 device, std::move(features)),
        bytes(kBlock) {}

  bool isReady() const { return compiled.kernels.size() == 1; }

  void operator()(const std::vector<uint32_t> &in, std::vector<uint16_t> &out) {
    const Kernel &kernel = compiled.kernels[0];
    alignas(64) float scale = 1;
    std::vector<void *> operands = {const_cast<uint32_t *>(in.data()), &scale,
                                    bytes.data()};
    if (kernel.threads == 0)
      reinterpret_cast<void (*)(void *const *, int64_t, int64_t)>(kernel.code)(
          operands.data(), 0, kernel.items);
    else
      launchOnce(kernel, operands);
    llvm::copy(bytes, out.begin());
  }

private:
  Compiled compiled;
  std::vector<uint8_t> bytes;
};

/// A function that rounds a block.
using Rounding =
    std::function<void(const std::vector<uint32_t> &, std::vector<uint16_t> &)>;

/// Makes one from a function of a single number.
template <typename Round> Rounding one(Round round) {
  return [=](const std::vector<uint32_t> &in, std::vector<uint16_t> &out) {
    for (uint32_t i = 0; i < kBlock; ++i)
      out[i] = round(mpc::floatFromBits(in[i]));
  };
}

/// Computes the expected results for the block that begins with these bits.
using Reference = std::function<void(uint32_t, std::vector<uint16_t> &)>;

void compare(const Rounding &rounding, const Reference &reference) {
  // Odd, so that the blocks of every exponent are spread evenly.
  const uint32_t stride = getenv("MPC_EVERY_FLOAT") ? 1 : 31;
  std::vector<uint32_t> floats(kBlock);
  std::vector<uint16_t> found(kBlock), wanted(kBlock);
  for (uint32_t block = 0; block < kBlocks; block += stride) {
    const uint32_t first = block * kBlock;
    for (uint32_t i = 0; i < kBlock; ++i)
      floats[i] = first + i;
    rounding(floats, found);
    reference(first, wanted);
    if (found == wanted)
      continue;
    for (uint32_t i = 0; i < kBlock; ++i)
      ASSERT_EQ(found[i], wanted[i]) << "of bits " << first + i;
  }
}

Reference bf16(bool flushes) {
  return [=](uint32_t first, std::vector<uint16_t> &out) {
    roundToBf16(first, out, flushes);
  };
}

void compareFp8(const Fp8 &format, Quantize quantize) {
  ASSERT_TRUE(quantize.isReady());
  compare(std::ref(quantize), [&](uint32_t first, std::vector<uint16_t> &out) {
    roundToFp8(first, out, format);
  });
}

TEST(EveryFloat, ToE4M3) { compareFp8(kE4M3, Quantize(kE4M3.name)); }

TEST(EveryFloat, ToE5M2) { compareFp8(kE5M2, Quantize(kE5M2.name)); }

// With integers on a GPU without the instruction, and with the simulator's
// model of the instruction: CPUs and all GPUs round identically.
TEST(EveryFloat, ToE4M3OnOlderGpus) {
  compareFp8(kE4M3, Quantize(kE4M3.name, "cuda", {"sm_80"}));
}

TEST(EveryFloat, ToE5M2OnOlderGpus) {
  compareFp8(kE5M2, Quantize(kE5M2.name, "cuda", {"sm_80"}));
}

TEST(EveryFloat, ToE4M3ByTheInstruction) {
  compareFp8(kE4M3, Quantize(kE4M3.name, "cuda", {"sm_80", "sm_89", "sm_90"}));
}

TEST(EveryFloat, ToE5M2ByTheInstruction) {
  compareFp8(kE5M2, Quantize(kE5M2.name, "cuda", {"sm_80", "sm_89", "sm_90"}));
}

// The instruction itself also saturates infinity. Tests both halves of the
// pair.
TEST(EveryFloat, TheInstructionSaturates) {
  for (const Fp8 &format : {kE4M3, kE5M2}) {
    const uint32_t number = format.fraction == 2 ? MPC_SIM_E5M2 : MPC_SIM_E4M3;
    const auto pair = [&](float high, float low) {
      return mpc_sim_round_to_fp8(number, high, low);
    };
    const uint16_t largest = format.largest;
    EXPECT_EQ(pair(INFINITY, -INFINITY), largest << 8 | 0x80 | largest);
    EXPECT_EQ(pair(-NAN, NAN), 0x7f7f);
    EXPECT_EQ(pair(-0.0f, 0.0f), 0x8000);
    EXPECT_EQ(pair(1.0f, 2.0f), format.bias << (8 + format.fraction) |
                                    (format.bias + 1) << format.fraction);
  }
}

// All bf16 values, which include every tie of FP8, and floats on either side.
TEST(EveryFloat, TheInstructionRoundsBf16) {
  std::vector<uint16_t> wanted(kBlock);
  for (const Fp8 &format : {kE4M3, kE5M2}) {
    const uint32_t number = format.fraction == 2 ? MPC_SIM_E5M2 : MPC_SIM_E4M3;
    for (uint32_t block = 0; block < kBlocks; ++block) {
      // quantize handles infinity.
      if ((block & 0x3fff) >= 0x7f80 >> 1)
        continue;
      roundToFp8(block * kBlock, wanted, format);
      for (uint32_t i : {0u, 1u, 0xffffu, 0x10000u, 0x10001u, 0x1ffffu}) {
        const float value = mpc::floatFromBits(block * kBlock + i);
        ASSERT_EQ(mpc_sim_round_to_fp8(number, value, 0) >> 8, wanted[i])
            << format.name << " of bits " << block * kBlock + i;
      }
    }
  }
}

TEST(EveryFloat, ToBf16) {
  llvm::Expected<mpc::CpuTarget> target = mpc::findCpuTarget("native");
  ASSERT_TRUE(bool(target));
  Cast cast("bf16");
  ASSERT_TRUE(cast.isReady());
  // AVX-512 BF16 treats subnormal numbers as zero.
  compare(std::cref(cast),
          bf16(llvm::is_contained(target->features, "avx512bf16")));
}

TEST(EveryFloat, ToF16) {
  Cast cast("f16");
  ASSERT_TRUE(cast.isReady());
  compare(std::cref(cast), roundToF16);
}

TEST(EveryFloat, ToBf16ByTheReference) {
  compare(one(mpc::kernels::Bf16::round), bf16(false));
}

TEST(EveryFloat, ToF16ByTheReference) {
  compare(one(mpc::kernels::F16::round), roundToF16);
}

TEST(EveryFloat, ToBf16ByTheCompiler) {
  compare(one(mpc::floatToBfloat), bf16(false));
}

TEST(EveryFloat, ToF16ByTheCompiler) {
  compare(one(mpc::floatToHalf), roundToF16);
}

} // namespace
