//===- Page.h - The files of compiler/Report/Html/Page ----------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_HTML_PAGE_H
#define MPC_COMPILER_REPORT_HTML_PAGE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpc::report {

// The frame of all pages. Its placeholders "@title@", "@style@", "@body@",
// "@report@" and "@script@", in this order, are replaced with the other parts
// and the data.
extern const char *const kPageFrame;
extern const char *const kPageStyle;
extern const char *const kCommonScript;

/// The parts of one kind of page.
struct PageParts {
  const char *title, *body, *script;
};

extern const PageParts kReportPage;
extern const PageParts kComparePage;

/// Builds a self-contained page of style, scripts and `json`, which is escaped
/// so that it cannot end the element that contains it.
std::string fillPage(const PageParts &parts, llvm::StringRef json);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_HTML_PAGE_H
