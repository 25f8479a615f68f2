//===- ComparePage.h - A comparison as a page -------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_COMPARE_COMPAREPAGE_H
#define MPC_COMPILER_REPORT_COMPARE_COMPAREPAGE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpc::report {

/// One page that loads nothing, of what `mpc compare --json` prints: curves, a
/// point for the error of each op, a search. Numbers that are null are not
/// finite.
std::string comparePage(llvm::StringRef json);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_COMPARE_COMPAREPAGE_H
