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

/// The formats that an ONNX op can be computed in besides f32. Ops that only
/// move elements do not count if other ops compute.
class OpFormats {
public:
  /// Adds the formats of an op of the train dialect that the ONNX op becomes.
  void learn(amp::PrecisionOpInterface made);

  /// "bf16, f16, tf32 (cuda)": devices are named only if not all have the
  /// format.
  std::string text() const;

private:
  /// Formats, with the devices that compute in them.
  using Formats = std::map<std::string, std::set<std::string_view>>;

  Formats computing, moving;
  bool computes = false;
};

/// "a, b", or "-" if there are none.
std::string join(const std::set<std::string> &words);

/// Writes a table of kernels, devices and types.
void writeKernels(llvm::raw_ostream &os);

} // namespace mpc

#endif // MPC_TEST_COMPILER_IMPORT_OP_FORMATS_H
