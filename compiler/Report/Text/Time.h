//===- Time.h - Estimated times of entry points -----------------*- C++ -*-===//
//
// Times are estimated by the rates of a machine: the times of the operations in
// each format and of the bytes that kernels read and write are added up.
// Launches and caches are ignored.
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
