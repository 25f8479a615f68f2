//===- NamePatterns.h - Options that name initializers ----------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_NAMEPATTERNS_H
#define MPC_COMPILER_IMPORT_NAMEPATTERNS_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Regex.h"

#include <string>
#include <vector>

namespace mpc {

/// The regular expressions that one option was given (`--freeze`, `--train`),
/// and which of them matched.
class NamePatterns {
public:
  explicit NamePatterns(std::string option) : option(std::move(option)) {}

  /// Fails after a diagnostic if one is no regular expression.
  mlir::LogicalResult compile(llvm::ArrayRef<std::string> patterns,
                              mlir::MLIRContext *context);
  bool match(llvm::StringRef name);
  /// Says which patterns matched nothing.
  void noteUnmatched(std::vector<std::string> &notes) const;

private:
  struct Pattern {
    std::string text;
    llvm::Regex regex;
    bool matched = false;
  };
  std::string option;
  std::vector<Pattern> patterns;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_NAMEPATTERNS_H
