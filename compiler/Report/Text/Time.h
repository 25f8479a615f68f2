//===- Time.h - How long entry points would take ----------------*- C++ -*-===//
//
// An estimate by the rates of a machine: operations of each format, and bytes
// that kernels read and write, one after the other. Launches cost nothing in
// it, and caches save nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_TEXT_TIME_H
#define MPC_COMPILER_REPORT_TEXT_TIME_H

#include "compiler/Report/Model/Data.h"

namespace mpc::report {

/// Fills in the times of all entries of devices whose rates are known.
void estimateTimes(Report &report);

/// "61.2 % in f32, 38.8 % in bf16 (estimated by the rates of an H100)".
std::string describeTime(const Report &report, const Rates &rates,
                         const Time &time);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_TEXT_TIME_H
