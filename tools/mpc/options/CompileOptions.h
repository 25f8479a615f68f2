//===- CompileOptions.h - Options of the commands that compile --*- C++ -*-===//
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

/// What `mpc compile` and `mpc report` ask for, as the command line has it.
class CompileArguments {
public:
  /// Adds the options that decide how a model is compiled.
  void addTo(CLI::App &command);

  /// The same, after all others, to a command whose help does not tell them
  /// again.
  void addHiddenTo(CLI::App &command);

  /// Lets --profile be about what a command shows, too: its help tells it, and
  /// it means something to every precision. To be called behind the others.
  void showProfile(CLI::App &command, const std::string &help);

  /// The file of --profile, "" if none is given.
  const std::string &profile() const { return options.profileFile; }

  /// Only those about the model, not how it is computed or for what.
  void addModelTo(CLI::App &command);

  /// The options for the compiler; throws a Failure if they contradict each
  /// other.
  CompileOptions toOptions(const std::string &model) const;

  /// The policy that the options amount to: that of --policy, then the others.
  PrecisionPolicy policy() const;

  /// The first on the command line of these options, but not a profile that is
  /// shown; "" if there is none.
  std::string firstGiven() const;

private:
  template <typename T>
  void addRow(CLI::App &command, const OptionRow &row, T &field);
  PrecisionPolicy filePolicy() const;
  bool isGiven(const char *name) const;

  CompileOptions options;
  // What flags take in another form than the library.
  std::string policyFile;
  std::string target = "cpu";
  std::optional<std::pair<double, double>> betas;
  const CLI::Option *shownProfile = nullptr;
  std::vector<const CLI::Option *> added;
};

/// Prints lines about a model on stderr.
void printDiagnostics(const std::string &diagnostics);

/// Prints what a compilation has to say on stderr: what was decided for the
/// user, then what is wrong with the model. Throws a Failure if something else
/// is wrong.
void printMessages(const CompileResult &result);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_COMPILEOPTIONS_H
