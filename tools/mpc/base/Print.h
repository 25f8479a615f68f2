//===- Print.h - What people and machines read ------------------*- C++ -*-===//
//
// Names come from files, and files from anywhere. Everything that prints one
// goes through here, so that a terminal shows it and never obeys it.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_BASE_PRINT_H
#define MPC_TOOLS_MPC_BASE_PRINT_H

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace mpc::tool {

/// The text with control characters and what is not UTF-8 written as \x1b: on
/// one line, whatever it is. With `lines`, ends of lines stay.
std::string printable(std::string_view text, bool lines = false);

/// The text with options as users of the command line write them: "--lr" for
/// "option 'lr'", which is how the library names them. All that is printed goes
/// through here.
std::string withFlags(const std::string &text);

/// Prints a result to stdout.
void say(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/// Prints JSON and the end of a line to stdout; returns false if it cannot be
/// written. What is not UTF-8 becomes U+FFFD.
bool sayJson(const nlohmann::ordered_json &json, int indent = -1);

/// Prints "<subject>: <kind>: <text>" to stderr: "mpc: note: ...".
void tell(const std::string &subject, const char *kind,
          const std::string &text);
inline void note(const std::string &text) { tell("mpc", "note", text); }
/// A note that others may have given in the same words.
void noteOnce(const std::string &text);
inline void warn(const std::string &text) { tell("mpc", "warning", text); }

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_PRINT_H
