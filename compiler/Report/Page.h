//===- Page.h - The files of compiler/Report/Page ---------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_PAGE_H
#define MPC_COMPILER_REPORT_PAGE_H

namespace mpc::report {

/// With "@style@", "@report@" and "@script@", in this order, where the others
/// and the data go.
extern const char *const kPageHtml;
extern const char *const kPageStyle;
extern const char *const kPageScript;

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_PAGE_H
