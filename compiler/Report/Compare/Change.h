//===- Change.h - What another format of an op would cost -------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_COMPARE_CHANGE_H
#define MPC_COMPILER_REPORT_COMPARE_CHANGE_H

#include "compiler/Report/Model/Data.h"

namespace mpc::report {

/// What moves more, or less, if one op computes in the other format and all
/// others stay as they are.
struct Change {
  int64_t bytes = 0;
  int64_t casts = 0;
};

/// For an op with some 16 bit: all of it in f32. For another: in 16 bit what is
/// not pinned. Weights exist in both. Of results only their bytes are known, so
/// those that are pinned count as if they were not.
Change estimateChange(const Function &function, size_t line);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_COMPARE_CHANGE_H
