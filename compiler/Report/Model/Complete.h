//===- Complete.h - What a report gets when all is compiled -----*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_MODEL_COMPLETE_H
#define MPC_COMPILER_REPORT_MODEL_COMPLETE_H

#include "compiler/Support/Report.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <string>

namespace mpc {

/// The report of mpc-report-precision with what mpc-recompute reported ("" if
/// it did not run), a part for each device, the module of each op and the
/// summary. `modules` names those of nodes whose names do not say, `others` the
/// devices that have a report of their own.
std::string completeReport(llvm::StringRef report, llvm::StringRef recomputed,
                           llvm::ArrayRef<DeviceReport> devices,
                           const std::map<std::string, std::string> &modules,
                           llvm::ArrayRef<std::string> others = {});

} // namespace mpc

#endif // MPC_COMPILER_REPORT_MODEL_COMPLETE_H
