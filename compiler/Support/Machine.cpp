//===- Machine.cpp - How fast machines are --------------------------------===//

#include "compiler/Support/Machine.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpc;

/// The peaks of its data sheet (SXM, dense). What transposes and a node of a
/// captured graph take are estimates: shared memory lies between 16-byte
/// accesses of the former.
static Machine h100(bool multipliesFp8) {
  constexpr double tf32 = 495e3, low = 990e3, fp8 = 1979e3;
  Machine machine = {
      "an H100", 3350, 67e3, tf32, low, low, multipliesFp8 ? fp8 : low};
  machine.turnedBytes = 2500;
  machine.launch = 1000;
  return machine;
}

/// Two cores of an EPYC: products at the peak that was measured, or half of it
/// for half the width, and memory. f16 and FP8 are widened there, and
/// TF32 is f32.
static Machine zen5(bool hasAvx512, bool hasBf16) {
  double f32 = hasAvx512 ? 560 : 280, bf16 = hasBf16 ? 1120 : f32;
  const char *name = hasBf16     ? "2 cores of a Zen 5"
                     : hasAvx512 ? "2 cores of a Zen 5 without AVX-512 BF16"
                                 : "2 cores of a Zen 5 with AVX2 alone";
  Machine machine = {name,        56, f32, /*tf32=*/f32, bf16, /*f16=*/f32,
                     /*fp8=*/bf16};
  machine.turnedBytes = machine.bytes;
  return machine;
}

Machine mpc::findMachine(llvm::StringRef device,
                         llvm::ArrayRef<std::string> features) {
  auto has = [&](llvm::StringRef feature) {
    return llvm::is_contained(features, feature);
  };
  if (device == "cuda")
    return h100(has("sm_89"));
  return zen5(has("avx512f"), has("avx512bf16"));
}
