//===- Report.h - The report of a compilation -------------------*- C++ -*-===//
//
// The report travels as JSON, in the module and in the package.
// docs/format/report.schema.json describes its fields, docs/format/report.md
// what programs may rely on.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_REPORT_H
#define MPC_COMPILER_SUPPORT_REPORT_H

#include "compiler/Attributes/Attributes.h"

#include "compiler/Support/Machine.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc {

inline constexpr int64_t kReportVersion = 1;

/// What an assembler says of one kernel; -1 where it does not.
struct KernelResources {
  std::string kernel;
  int64_t registers = -1;   ///< Registers per thread.
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
  Machine machine; ///< That stands for the device.
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_REPORT_H
