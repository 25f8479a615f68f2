//===- Command.h - Declarations shared by all subcommands -------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_COMMAND_H
#define MPC_TOOLS_MPC_COMMAND_H

#include "passes/Weights/OpenWeights.h"

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace mpc::tool {

/// Exit codes of `mpc`. Scripts depend on the numbers.
enum ExitCode {
  Ok = 0,
  Error = 1,        ///< A defect of mpc.
  Usage = 2,        ///< The command line, or data that does not fit the model.
  InvalidModel = 3, ///< The model is invalid or not supported.
  InputOutput = 4,
  Damaged = 5,  ///< Package or checkpoint damaged or incompatible.
  Numeric = 6,  ///< Training diverged.
  Limit = 7,    ///< Out of memory, or a limit was exceeded.
  NoDevice = 8, ///< No such device, or no code for it in the package.
  RankLost = 9, ///< Another process of the run is gone.
  Stopped = 75, ///< Stopped by a signal: --resume continues.
};

/// Ends a subcommand with an error. The message starts in lower case and has no
/// full stop; `main` prints it after "mpc <subcommand>: error: ".
class Failure : public std::runtime_error {
public:
  Failure(ExitCode exitCode, const std::string &message)
      : std::runtime_error(message), exitCode(exitCode) {}

  const ExitCode exitCode;
};

/// Ends a subcommand whose error has already been printed.
class AlreadyReported : public std::exception {
public:
  explicit AlreadyReported(ExitCode exitCode) : exitCode(exitCode) {}

  const ExitCode exitCode;
};

/// Runs a subcommand whose options have been parsed.
using Action = std::function<int()>;

/// Each of these adds one subcommand to `app` and returns its action. They are
/// in the order of `mpc --help`.
Action addCompile(CLI::App &app);
/// `openOnnx` is null in an mpc without the compiler.
Action addTrain(CLI::App &app, OpenWeights *openOnnx);
Action addEval(CLI::App &app);
Action addPredict(CLI::App &app);
Action addGenerate(CLI::App &app);
Action addExport(CLI::App &app);
Action addReport(CLI::App &app);
Action addCompare(CLI::App &app);
Action addDebug(CLI::App &app);
Action addProfile(CLI::App &app);
Action addBench(CLI::App &app);
Action addPlot(CLI::App &app);
Action addInspect(CLI::App &app);
Action addCheckpoint(CLI::App &app);
Action addDoctor(CLI::App &app);

/// Lets the subcommand `doctor` also check a model; `machine` is its action if
/// no model is given.
Action addModelDoctor(CLI::App &app, Action machine);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMMAND_H
