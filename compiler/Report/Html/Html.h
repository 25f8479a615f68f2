//===- Html.h - A report as an HTML page ------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_HTML_HTML_H
#define MPC_COMPILER_REPORT_HTML_HTML_H

#include "compiler/Report/Model/Ranges.h"

#include <string>

namespace mpc::report {

/// Renders a report as one self-contained page: shares by format, ops that stay
/// f32, memory over time, a graph of modules and ops coloured by format, a
/// search and, from `ranges`, the measured results of ops. It is built from the
/// parsed report, not from the file, so that the page contains no code of the
/// file.
std::string htmlPage(const Report &report, const Ranges *ranges = nullptr);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_HTML_HTML_H
