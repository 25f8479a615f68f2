//===- Html.h - A report as a page ------------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_HTML_HTML_H
#define MPC_COMPILER_REPORT_HTML_HTML_H

#include "compiler/Report/Model/Ranges.h"

#include <string>

namespace mpc::report {

/// One page that loads nothing: shares by format, what stays f32, memory over
/// time, a graph of modules and ops coloured by format, a search and, of
/// `ranges`, what ops gave when they were measured. It is made of what was
/// read, not of the file, so that nothing in it is code.
std::string htmlPage(const Report &report, const Ranges *ranges = nullptr);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_HTML_HTML_H
