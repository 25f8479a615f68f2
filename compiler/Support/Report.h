//===- Report.h - The precision report --------------------------*- C++ -*-===//
//
// The report travels as JSON, in the module and in the package:
//
//   { "version": 1, "model": "mlp.onnx", "precision": "bf16",
//     "functions": [ { "name": "step", "totals": {...}, "ops": [
//       { "op": "train.matmul", "node": "fc1", "type": "Gemm", "class": "low",
//         "operand_dtype": "bf16", "dtype": "f32", "accumulate_dtype": "f32",
//         "casts_in": 1, "casts_out": 0, "rule": "class", "reason": "...",
//         "flops": 1048576, "bytes": 20480 } ] } ],
//     "totals": { "flops", "flops_16bit", "bytes", "bytes_16bit", "casts",
//                 "weight_casts" } }
//
// `bytes` are those of float operands and results, each counted once per op,
// before ops are fused. `casts` do not count the one that the optimizer makes
// when it writes the working copy; `weight_casts` are those of weights
// elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_REPORT_H
#define MPC_COMPILER_SUPPORT_REPORT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace mpc {

inline constexpr int64_t kReportVersion = 1;

/// Renders a report as aligned text, one table per function and the totals.
/// With `function` only the table of that one. `json` may come from a file
/// that anybody wrote: what is no report is an error, never a crash.
llvm::Expected<std::string> renderReport(llvm::StringRef json,
                                         llvm::StringRef function = {});

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_REPORT_H
