//===- NamePatterns.cpp - Name patterns of options ------------------------===//

#include "compiler/Import/Initializers/NamePatterns.h"

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/UserInput/Nearest.h"
#include "compiler/Support/UserInput/UserRegex.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace mpc;

LogicalResult NamePatterns::compile(ArrayRef<std::string> texts,
                                    MLIRContext *context) {
  for (const std::string &text : texts) {
    std::string reason;
    std::optional<llvm::Regex> regex = compileUserRegex(text, reason);
    if (!regex)
      return emitUsageError(UnknownLoc::get(context))
             << option << "='" << text
             << "' is not a regular expression: " << reason;
    patterns.push_back({text, std::move(*regex)});
  }
  return success();
}

bool NamePatterns::matchAndMark(StringRef name) {
  bool any = false;
  for (Pattern &pattern : patterns) {
    bool matches = pattern.regex.match(name);
    pattern.matched |= matches;
    any |= matches;
  }
  return any;
}

LogicalResult
NamePatterns::checkMatched(ArrayRef<StringRef> names, MLIRContext *context,
                           std::vector<std::string> &notes) const {
  bool isFine = true;
  for (const Pattern &pattern : patterns) {
    if (pattern.matched)
      continue;
    std::string text = option + "='" + pattern.text + "' matches no " + kind;
    if (llvm::any_of(
            names, [&](StringRef name) { return pattern.regex.match(name); })) {
      notes.push_back(text);
      continue;
    }
    emitUsageError(UnknownLoc::get(context))
        << text << describeNearest(pattern.text, names);
    isFine = false;
  }
  return success(isFine);
}
