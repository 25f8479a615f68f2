//===- op_formats.h - What ops and kernels can be computed in ----*- C++
//-*-===//
#ifndef MPC_TEST_COMPILER_IMPORT_OP_FORMATS_H
#define MPC_TEST_COMPILER_IMPORT_OP_FORMATS_H

#include "compiler/Dialect/Amp/IR/Amp.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace mpc {

/// What an ONNX op can be computed in beside f32. What only moves elements does
/// not count if something else computes.
class OpFormats {
public:
  /// Adds the formats of an op of the train dialect that it becomes.
  void learn(amp::PrecisionOpInterface made);

  /// "bf16, f16, tf32 (cuda)": no device is named where all have the format.
  std::string text() const;

private:
  /// With the devices that compute in them.
  using Formats = std::map<std::string, std::set<std::string_view>>;

  Formats computing, moving;
  bool computes = false;
};

/// "a, b", or "-" without any.
std::string join(const std::set<std::string> &words);

/// Writes a table of kernels, devices and types.
void writeKernels(llvm::raw_ostream &os);

} // namespace mpc

#endif // MPC_TEST_COMPILER_IMPORT_OP_FORMATS_H
