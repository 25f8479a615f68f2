//===- Profile.h - What tensors held while a model trained ------*- C++ -*-===//
//
// What `mpc profile` wrote; tools/mpc/commands/Profile.cpp describes the file.
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

/// The mean square of what rounding changes in the loss, to first order. Of
/// independent roundings they add up.
class Sensitivity {
public:
  /// Beyond every budget, yet a number that sums and products may have.
  static constexpr double kUnknown = 1e60;

  /// That of a value which may be rounded as one likes.
  Sensitivity() { values.fill(0); }
  static Sensitivity unknown();

  /// `format` is one of kProfiledFormats.
  double of(Format format) const;
  void set(Format format, double value);

private:
  std::array<double, kProfiledFormats.size()> values;
};

/// Elements of one tensor over all steps.
struct ProfiledTensor {
  std::string op; ///< "train.matmul"; empty for inputs and states.
  std::string dtype;
  uint64_t elements = 0; ///< Elements of the tensor in one step.
  uint64_t count = 0, nans = 0, infinities = 0, zeros = 0;
  double largest = 0, smallest = 0; ///< Sizes of finite ones, 0 left out.
  /// By floor(log2(size)), from Profile::firstExponent on.
  std::vector<uint64_t> exponents;
  std::optional<Sensitivity> sensitivity; ///< Set for tensors with a gradient.
};

class Profile {
public:
  /// Reads a file. Fails if it is none, or not of fp32.
  static llvm::Expected<Profile> read(llvm::StringRef path);

  /// The same of what stands in the file.
  static llvm::Expected<Profile> parse(llvm::StringRef json,
                                       llvm::StringRef path);

  /// The tensors of a node, input or state, in the order of the program.
  llvm::ArrayRef<ProfiledTensor> find(llvm::StringRef name) const;
  bool empty() const { return tensors.empty(); }

  /// An error that says by `why` that this is of another model.
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
