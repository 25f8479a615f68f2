//===- ComparePage.cpp - A comparison as a page ---------------------------===//

#include "compiler/Report/ComparePage.h"

#include "compiler/Report/Page.h"

std::string mpc::report::comparePage(llvm::StringRef json) {
  return fillPage(kComparePage, json);
}
