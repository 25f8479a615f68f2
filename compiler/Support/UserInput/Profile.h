//===- Profile.h - Tensor statistics of a training run ----------*- C++ -*-===//
//
// The file that `mpc profile` writes; tools/mpc/commands/Profile.cpp describes
// its format.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_USERINPUT_PROFILE_H
#define MPC_COMPILER_SUPPORT_USERINPUT_PROFILE_H

#include "compiler/Support/Precision/Formats.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// The mean square of the change of the loss by rounding, to first order. The
/// sensitivities of independent roundings add up.
class Sensitivity {
public:
  /// Exceeds every budget, but can still be summed and multiplied.
  static constexpr double kUnknown = 1e60;

  /// The sensitivity of a value that may be rounded freely.
  Sensitivity() { values.fill(0); }
  static Sensitivity unknown();

  /// `format` is one of kProfiledFormats.
  double of(Format format) const;
  void set(Format format, double value);

private:
  std::array<double, kProfiledFormats.size()> values;
};

/// Statistics of the elements of one tensor over all steps.
struct ProfiledTensor {
  std::string op; ///< "train.matmul"; empty for inputs and states.
  std::string dtype;
  uint64_t elements = 0; ///< Elements of the tensor in one step.
  uint64_t count = 0, nans = 0, infinities = 0, zeros = 0;
  double largest = 0, smallest = 0; ///< Finite nonzero magnitudes.
  /// Counts by floor(log2(magnitude)), from Profile::firstExponent on.
  std::vector<uint64_t> exponents;
  std::optional<Sensitivity> sensitivity; ///< Set for tensors with a gradient.
};

class Profile {
public:
  /// Reads a file. Fails if it is not a profile, or not one of an fp32 run.
  static llvm::Expected<Profile> read(llvm::StringRef path);

  /// The same for the contents of a file.
  static llvm::Expected<Profile> parse(llvm::StringRef json,
                                       llvm::StringRef path);

  /// The tensors of a node, input or state, in the order of the program.
  llvm::ArrayRef<ProfiledTensor> find(llvm::StringRef name) const;
  bool empty() const { return tensors.empty(); }

  /// Returns the error that this profile is of another model, for the reason
  /// `why`.
  llvm::Error refuse(const llvm::Twine &why) const;

  std::string path;
  std::string model; ///< The file that the profiled package was made of.
  uint64_t steps = 0;
  int64_t firstExponent = 0;

private:
  llvm::StringMap<std::vector<ProfiledTensor>> tensors;
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_USERINPUT_PROFILE_H
