//===- Complete.h - Completion of a report ----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_MODEL_COMPLETE_H
#define MPC_COMPILER_REPORT_MODEL_COMPLETE_H

#include "compiler/Support/Report.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <string>

namespace mpc {

/// Extends the report of mpc-report-precision with the report of mpc-recompute
/// ("" if it did not run), a part for each device, the module of each op and
/// the summary. `modules` maps nodes to modules if their names do not tell;
/// `others` are the devices with a report of their own. `batches` are the batch
/// sizes of the program, the reported one first, if there are several.
std::string completeReport(llvm::StringRef report, llvm::StringRef recomputed,
                           llvm::ArrayRef<DeviceReport> devices,
                           const std::map<std::string, std::string> &modules,
                           llvm::ArrayRef<std::string> others = {},
                           llvm::ArrayRef<int64_t> batches = {});

} // namespace mpc

#endif // MPC_COMPILER_REPORT_MODEL_COMPLETE_H
