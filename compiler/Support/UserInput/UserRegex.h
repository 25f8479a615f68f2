//===- UserRegex.h - Regular expressions from users -------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_USERINPUT_USERREGEX_H
#define MPC_COMPILER_SUPPORT_USERINPUT_USERREGEX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"

#include <optional>
#include <string>

namespace mpc {

// Limits of a pattern. The regex compiler expands repeats and recurses into
// parentheses, so these are checked before it runs.
constexpr size_t kMaxRegexLength = 16384;
constexpr size_t kMaxRegexDepth = 100;
constexpr size_t kMaxRegexSize = 50000; ///< With all repeats expanded.

/// Compiles a regular expression (POSIX, extended) that a user wrote. Returns
/// nothing and sets `reason` if the pattern is malformed, exceeds a limit, or
/// has back-references (\1), whose matching can take exponential time.
std::optional<llvm::Regex> compileUserRegex(llvm::StringRef pattern,
                                            std::string &reason);

/// Returns true if a pattern that compileUserRegex accepts matches anywhere in
/// `text`.
bool matchesUserRegex(llvm::StringRef pattern, llvm::StringRef text);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_USERINPUT_USERREGEX_H
