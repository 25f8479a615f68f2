//===- ComparePage.h - A comparison as an HTML page -------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_COMPARE_COMPAREPAGE_H
#define MPC_COMPILER_REPORT_COMPARE_COMPAREPAGE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpc::report {

/// Renders the output of `mpc compare --json` as one self-contained page: loss
/// curves, a point for the error of each op, a search. A null number stands for
/// one that is not finite.
std::string comparePage(llvm::StringRef json);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_COMPARE_COMPAREPAGE_H
