//===- UserRegex.h - Regular expressions of users ---------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_USERINPUT_USERREGEX_H
#define MPC_COMPILER_SUPPORT_USERINPUT_USERREGEX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"

#include <optional>
#include <string>

namespace mpc {

// Limits of a pattern. Compiling one writes out its repeats and recurses into
// its parentheses, before anything else could refuse it.
constexpr size_t kMaxRegexLength = 16384;
constexpr size_t kMaxRegexDepth = 100;
constexpr size_t kMaxRegexSize = 50000; ///< With all repeats written out.

/// Compiles a regular expression (POSIX, extended) that a user wrote. Returns
/// nothing and says why in `reason` if it is not one, is over a limit, or has
/// references to groups (\1), whose matching can take exponential time.
std::optional<llvm::Regex> compileUserRegex(llvm::StringRef pattern,
                                            std::string &reason);

/// Whether a pattern that compileUserRegex takes matches anywhere in `text`.
bool matchesUserRegex(llvm::StringRef pattern, llvm::StringRef text);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_USERINPUT_USERREGEX_H
