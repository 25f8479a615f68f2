//===- NamePatterns.cpp - Options that name parts of a model --------------===//

#include "compiler/Import/NamePatterns.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace mpc;

LogicalResult NamePatterns::compile(ArrayRef<std::string> texts,
                                    MLIRContext *context) {
  for (const std::string &text : texts) {
    llvm::Regex regex(text);
    std::string reason;
    if (!regex.isValid(reason))
      return emitError(UnknownLoc::get(context))
             << option << "='" << text
             << "' is not a regular expression: " << reason;
    patterns.push_back({text, std::move(regex)});
  }
  return success();
}

bool NamePatterns::match(StringRef name) {
  bool any = false;
  for (Pattern &pattern : patterns) {
    bool matches = pattern.regex.match(name);
    pattern.matched |= matches;
    any |= matches;
  }
  return any;
}

void NamePatterns::noteUnmatched(std::vector<std::string> &notes) const {
  for (const Pattern &pattern : patterns)
    if (!pattern.matched)
      notes.push_back(option + "='" + pattern.text + "' matches no " + kind);
}
