//===- Page.h - The files of compiler/Report/Html/Page ----------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_HTML_PAGE_H
#define MPC_COMPILER_REPORT_HTML_PAGE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpc::report {

// The frame of all pages. It has "@title@", "@style@", "@body@", "@report@" and
// "@script@", in this order, where the others and the data go.
extern const char *const kPageFrame;
extern const char *const kPageStyle;
extern const char *const kCommonScript;

/// What one kind of page has of its own.
struct PageParts {
  const char *title, *body, *script;
};

extern const PageParts kReportPage;
extern const PageParts kComparePage;

/// A page that holds all it needs: style, scripts and `json`, in which nothing
/// can end the element that it stands in.
std::string fillPage(const PageParts &parts, llvm::StringRef json);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_HTML_PAGE_H
