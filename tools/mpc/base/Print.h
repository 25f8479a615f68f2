//===- Print.h - Output to the terminal and to programs ---------*- C++ -*-===//
//
// Names come from files that are not trusted. Everything that prints them uses
// these functions, so that a name cannot send control sequences to a terminal.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_BASE_PRINT_H
#define MPC_TOOLS_MPC_BASE_PRINT_H

#include <nlohmann/json_fwd.hpp>

#include <set>
#include <string>
#include <string_view>

namespace mpc::tool {

/// The text with control characters and invalid UTF-8 escaped as in \x1b. The
/// result is one line; with `lines`, line breaks are kept.
std::string printable(std::string_view text, bool lines = false);

/// The text with options as on the command line: "--lr" for "option 'lr'",
/// which is how the library refers to them. All messages go through this
/// function.
std::string withFlags(const std::string &text);

/// Prints a result to stdout.
void printResult(const char *pattern, ...)
    __attribute__((format(printf, 1, 2)));

/// Prints JSON and a newline to stdout; returns false if that fails. Invalid
/// UTF-8 becomes U+FFFD.
bool printJson(const nlohmann::ordered_json &json, int indent = -1);

/// Receives messages that would be printed to stderr.
class MessageSink {
public:
  virtual ~MessageSink() = default;
  /// `kind` is "note", "warning", ...
  virtual void receive(const char *kind, const std::string &text) = 0;

private:
  friend void noteOnce(const std::string &text);
  std::set<std::string> said; ///< By noteOnce().
};

/// While an object exists, the messages of this thread go to a sink.
class MessagesTo {
public:
  explicit MessagesTo(MessageSink &sink);
  MessagesTo(const MessagesTo &) = delete;
  MessagesTo &operator=(const MessagesTo &) = delete;
  ~MessagesTo();

private:
  MessageSink *const previous;
};

/// Where the messages of this thread go; null: to stderr.
MessageSink *currentMessages();

/// Prints "<subject>: <kind>: <text>" to stderr: "mpc: note: ...". If there is
/// a sink, it receives `kind` and `text` instead.
void printMessage(const std::string &subject, const char *kind,
                  const std::string &text);
inline void note(const std::string &text) { printMessage("mpc", "note", text); }
/// Prints a note unless the same note has been printed before, or has gone to
/// the same sink.
void noteOnce(const std::string &text);
inline void warn(const std::string &text) {
  printMessage("mpc", "warning", text);
}

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_PRINT_H
