//===- Page.h - The files of compiler/Report/Page ---------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_PAGE_H
#define MPC_COMPILER_REPORT_PAGE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpc::report {

// Of all pages.
extern const char *const kPageStyle;
extern const char *const kCommonScript;

// Of the report, and of a comparison. The first of each has "@style@",
// "@report@" and "@script@", in this order, where the others and the data go.
extern const char *const kPageHtml;
extern const char *const kPageScript;
extern const char *const kCompareHtml;
extern const char *const kCompareScript;

/// A page that holds all it needs: `html` with style, scripts and `json`, in
/// which nothing can end the element that it stands in.
std::string fillPage(llvm::StringRef html, llvm::StringRef script,
                     llvm::StringRef json);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_PAGE_H
