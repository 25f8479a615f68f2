//===- ComparePage.cpp - A comparison as an HTML page ---------------------===//

#include "compiler/Report/Compare/ComparePage.h"

#include "compiler/Report/Html/Page.h"

std::string mpc::report::comparePage(llvm::StringRef json) {
  return fillPage(kComparePage, json);
}
