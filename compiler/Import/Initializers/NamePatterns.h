//===- NamePatterns.h - Name patterns of options ----------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_INITIALIZERS_NAMEPATTERNS_H
#define MPC_COMPILER_IMPORT_INITIALIZERS_NAMEPATTERNS_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Regex.h"

#include <string>
#include <vector>

namespace mpc {

/// The regular expressions of one option (`--freeze`, `--train`, `--detach`),
/// and which of them matched.
class NamePatterns {
public:
  /// `kind` describes what the patterns must match.
  NamePatterns(std::string option, std::string kind)
      : option(std::move(option)), kind(std::move(kind)) {}

  /// Fails after a diagnostic if a pattern is not a valid regular expression.
  mlir::LogicalResult compile(llvm::ArrayRef<std::string> patterns,
                              mlir::MLIRContext *context);
  /// Returns true if a pattern matches `name`, and records that it matched.
  bool matchAndMark(llvm::StringRef name);
  /// Fails after a diagnostic for each pattern that matched nothing so far and
  /// matches none of `names`. A pattern that matches only `names`, which the
  /// graph does not use in this way, adds a note.
  mlir::LogicalResult checkMatched(llvm::ArrayRef<llvm::StringRef> names,
                                   mlir::MLIRContext *context,
                                   std::vector<std::string> &notes) const;

private:
  struct Pattern {
    std::string text;
    llvm::Regex regex;
    bool matched = false;
  };
  std::string option, kind;
  std::vector<Pattern> patterns;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_INITIALIZERS_NAMEPATTERNS_H
