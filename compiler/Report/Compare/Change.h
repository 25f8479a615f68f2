//===- Change.h - The cost of another format of an op -----------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_COMPARE_CHANGE_H
#define MPC_COMPILER_REPORT_COMPARE_CHANGE_H

#include "compiler/Report/Model/Data.h"

namespace mpc::report {

/// The difference if one op computes in the other format and all other ops stay
/// unchanged.
struct Change {
  int64_t bytes = 0;
  int64_t casts = 0;
};

/// For an op with 16-bit operands or results, estimates the change to f32; for
/// any other op, the change to 16 bit of all that is not pinned. Weights exist
/// in both formats. Reports have only the bytes of results, so pinned results
/// count as if they were not pinned.
Change estimateChange(const Function &function, size_t line);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_COMPARE_CHANGE_H
