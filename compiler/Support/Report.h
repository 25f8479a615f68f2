//===- Report.h - The report of a compilation -------------------*- C++ -*-===//
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
//                 "weight_casts" },
//     "devices": [ { "device": "cuda",
//       "kernels": [ { "name": "kernel_0", "node": "relu1",
//                      "launches": { "step": 2, "predict": 1 } } ],
//       "transposes": [ { "function": "step", "kernel": "kernel_1",
//                         "node": "conv1", "origin": "layout",
//                         "bytes": 3072 } ],
//       "architectures": [ { "name": "sm_90", "assembled": true, "kernels": [
//         { "name": "kernel_0", "registers": 24, "stack": 0,
//           "spill_stores": 0, "spill_loads": 0, "shared": 4096 } ] } ] } ] }
//
// `bytes` are those of float operands and results, each counted once per op,
// before ops are fused. `casts` do not count the one that the optimizer makes
// when it writes the working copy; `weight_casts` are those of weights
// elsewhere.
//
// `transposes` are launches of kernels that do nothing else; `bytes` are read
// and written. What the assembler says of a kernel is in registers of a thread
// and bytes; where there was none, `assembled` is false and nothing is known.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_REPORT_H
#define MPC_COMPILER_SUPPORT_REPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc {

inline constexpr int64_t kReportVersion = 1;

/// What mpc-report-kernels leaves at the module: an object with the `kernels`
/// and `transposes` of one device.
inline constexpr llvm::StringLiteral kKernelReportAttr = "mpc.kernel_report";

/// What an assembler says of one kernel; -1 where it does not.
struct KernelResources {
  std::string kernel;
  int64_t registers = -1;   ///< Of a thread.
  int64_t stack = -1;       ///< Bytes of a thread, as are spills.
  int64_t spillStores = -1; ///< Bytes written since registers ran out,
  int64_t spillLoads = -1;  ///< and read again.
  int64_t shared = -1;      ///< Bytes of a block.
};

struct ArchitectureReport {
  std::string name;       ///< "sm_80".
  bool assembled = false; ///< False: there was no assembler.
  std::vector<KernelResources> kernels;
};

struct DeviceReport {
  std::string device;
  std::string kernels; ///< JSON: kKernelReportAttr.
  std::vector<ArchitectureReport> architectures;
};

/// The report with a part for each device.
std::string addDevices(llvm::StringRef report,
                       llvm::ArrayRef<DeviceReport> devices);

/// Renders a report as aligned text, one table per function, the totals and
/// what there is to say of each device. With `function` only the table of that
/// one. `json` may come from a file
/// that anybody wrote: what is no report is an error, never a crash.
llvm::Expected<std::string> renderReport(llvm::StringRef json,
                                         llvm::StringRef function = {});

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_REPORT_H
