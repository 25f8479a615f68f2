//===- Report.h - The report of a compilation -------------------*- C++ -*-===//
//
// The report travels as JSON, in the module and in the package.
// docs/format/report.schema.json describes its fields, and
// docs/format/report.md states what programs may rely on.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_REPORT_H
#define MPC_COMPILER_SUPPORT_REPORT_H

#include "compiler/Attributes/Attributes.h"

#include "compiler/Support/Machine/Machine.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc {

inline constexpr int64_t kReportVersion = 1;

/// What the assembler reports about one kernel; -1 if it does not say.
struct KernelResources {
  std::string kernel;
  int64_t registers = -1;   ///< Registers per thread.
  int64_t stack = -1;       ///< Bytes per thread, like spills.
  int64_t spillStores = -1; ///< Bytes written for lack of registers,
  int64_t spillLoads = -1;  ///< and read again.
  int64_t shared = -1;      ///< Bytes per block.
};

struct ArchitectureReport {
  std::string name;       ///< "sm_80".
  bool assembled = false; ///< False if there was no assembler.
  std::vector<KernelResources> kernels;
};

struct DeviceReport {
  std::string device;
  std::string kernels; ///< JSON: kKernelReportAttr.
  std::vector<ArchitectureReport> architectures;
  Machine machine; ///< Stands for the device in estimates.
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_REPORT_H
