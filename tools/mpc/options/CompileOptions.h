//===- CompileOptions.h - Options of commands that compile ------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_OPTIONS_COMPILEOPTIONS_H
#define MPC_TOOLS_MPC_OPTIONS_COMPILEOPTIONS_H

#include "passes/Driver/Pipeline.h"
#include "passes/Options/OptionRow.h"
#include "tools/mpc/options/PolicyFile.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace mpc::tool {

/// The compile options of `mpc compile`, `mpc report` and similar commands, as
/// given on the command line.
class CompileArguments {
public:
  /// Adds the options that determine how a model is compiled.
  void addTo(CLI::App &command);

  /// The same for a command whose help does not repeat them. Call it after all
  /// other options have been added.
  void addHiddenTo(CLI::App &command);

  /// Lets --profile also choose what a command shows: its help describes the
  /// option, which is allowed with every precision. Call it last.
  void showProfile(CLI::App &command, const std::string &help);

  /// The file given to --profile, or "".
  const std::string &profile() const { return options.profileFile; }

  /// Adds only the options that describe the model and its loss.
  void addModelTo(CLI::App &command);

  /// Converts the arguments to options for the compiler; throws a Failure if
  /// they contradict each other.
  CompileOptions toOptions(const std::string &model) const;

  /// The resulting precision policy: the rules of --policy, then those of other
  /// options.
  PrecisionPolicy policy() const;

  /// Prints the messages of a compilation with these options like
  /// tool::printMessages.
  void printMessages(const CompileResult &result) const;

  /// The name of the first of these options that was given, except a shown
  /// profile; "" if there is none.
  std::string firstGiven() const;

private:
  template <typename T>
  void addRow(CLI::App &command, const OptionRow &row, T &field);
  PrecisionPolicy filePolicy() const;
  bool isGiven(const char *name) const;

  CompileOptions options;
  // Values whose form on the command line differs from that in the library.
  std::string policyFile, machine;
  std::string target = "cpu";
  std::optional<std::pair<double, double>> betas;
  const CLI::Option *shownProfile = nullptr;
  std::vector<const CLI::Option *> added;
};

/// Prints diagnostics about a model to stderr.
void printDiagnostics(const std::string &diagnostics);

/// Prints the messages of a compilation to stderr: notes on decisions and
/// defaults, then diagnostics about the model. Throws a Failure if the result
/// has an error.
void printMessages(const CompileResult &result);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_COMPILEOPTIONS_H
