//===- main.cpp - The mpc command -----------------------------------------===//

#ifdef MPC_HAS_COMPILER
#include "passes/Driver/Weights/OnnxWeights.h"
#endif
#include "tools/StandardStreams.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/Version.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/data/Elements.h"
#include "tools/mpc/options/ConfigFile.h"
#include "tools/mpc/options/Documents.h"
#include "tools/mpc/options/Help.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

using namespace mpc::tool;

/// Runs the subcommand that was parsed and turns what it throws into a message
/// and an exit code.
static int runAction(const std::string &name, const Action &action) {
  try {
    int exitCode = action();
    // A full disk is detected only now. A command that stopped because the
    // reader of its output has gone has already reported that.
    if (exitCode != Stopped &&
        (std::fflush(stdout) != 0 || std::ferror(stdout)))
      throw Failure(InputOutput, std::string("cannot write the output: ") +
                                     std::strerror(errno));
    return exitCode;
  } catch (const AlreadyReported &failure) {
    return failure.exitCode;
  } catch (const Failure &failure) {
    printMessage(name, "error", failure.what());
    return failure.exitCode;
  } catch (const std::bad_alloc &) {
    printMessage(name, "error", "out of memory");
    return Limit;
  } catch (const std::exception &unexpected) {
    printMessage(name, "internal error", unexpected.what());
    return Error;
  }
}

/// Commands without subcommands.
static std::vector<CLI::App *> leavesOf(CLI::App &app) {
  std::vector<CLI::App *> leaves, subs = app.get_subcommands({});
  if (subs.empty())
    return {&app};
  for (CLI::App *sub : subs)
    for (CLI::App *leaf : leavesOf(*sub))
      leaves.push_back(leaf);
  return leaves;
}

static const CLI::App &parsedLeaf(const CLI::App &app) {
  const CLI::App *command = &app;
  while (!command->get_subcommands().empty())
    command = command->get_subcommands().front();
  return *command;
}

#define MPC_EXIT_CODES                                                         \
  "Exit codes: 0 success, 1 internal error (compare, report: a difference), "  \
  "2 wrong\nusage or data, 3 invalid model, 4 input/output, 5 damaged file, "  \
  "6 training\ndiverged, 7 out of memory, 8 no such device, 9 another rank is " \
  "gone, 75 stopped\nby a signal.\n"

#ifdef MPC_HAS_COMPILER
static constexpr const char *kFooter =
    MPC_EXIT_CODES "Run mpc COMMAND --help for details. Example:\n"
                   "  mpc compile model.onnx --precision=bf16\n"
                   "  mpc train model.mpc --data train.npz --epochs 10";
#else
static constexpr const char *kFooter = MPC_EXIT_CODES
    "Run mpc COMMAND --help for details. Example:\n"
    "  mpc train model.mpc --data train.npz --epochs 10\n"
    "This build of mpc has no compiler: it cannot compile or read ONNX files.";
#endif

int main(int argc, char **argv) {
  mpc::openStandardStreams();
  // Without the signal, exceeding the shell's file size limit is an error like
  // a full disk, which is reported and leaves no partial file.
  std::signal(SIGXFSZ, SIG_IGN);
  Elements::explainBusErrors();

  CLI::App app("mpc compiles ONNX models into training programs in mixed "
               "precision and trains\nthem.",
               "mpc");
  app.formatter(std::make_shared<HelpFormatter>());
  app.require_subcommand(1);
  app.set_help_flag("--help,-h", "Print this help");
  app.set_version_flag("--version", "mpc " MPC_VERSION, "Print the version");
  app.footer(kFooter);

  // In the order of --help.
  std::vector<Action> actions;
#ifdef MPC_HAS_COMPILER
  actions.push_back(addCompile(app));
  actions.push_back(addTrain(app, mpc::openOnnxWeights));
#else
  actions.push_back(addTrain(app, nullptr));
#endif
  actions.push_back(addEval(app));
  actions.push_back(addPredict(app));
  actions.push_back(addGenerate(app));
#ifdef MPC_HAS_COMPILER
  actions.push_back(addExport(app));
  actions.push_back(addReport(app));
  actions.push_back(addCompare(app));
  actions.push_back(addDebug(app));
#endif
  actions.push_back(addProfile(app));
  actions.push_back(addBench(app));
  actions.push_back(addPlot(app));
  actions.push_back(addInspect(app));
  actions.push_back(addCheckpoint(app));
  actions.push_back(addDoctor(app));
#ifdef MPC_HAS_COMPILER
  actions.back() = addModelDoctor(app, actions.back());
#endif

  for (CLI::App *command : leavesOf(app))
    addConfigTo(*command);

  if (argc == 1) {
    std::fputs(app.help().c_str(), stderr);
    return Usage;
  }
  // For the build and for packagers.
  if (argc == 3 && argv[1] == std::string("--write-documents"))
    return runAction("mpc", [&] { return writeDocuments(app, argv[2]), Ok; });
  Origins origins;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (int code = runAction(nameOfCommand(app, arguments), [&] {
        arguments = withConfig(app, std::move(arguments), origins);
        return Ok;
      }))
    return code;
  try {
    // CLI11 takes them from the end.
    std::reverse(arguments.begin(), arguments.end());
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError &error) {
    // --help, --version
    if (error.get_exit_code() == 0 && !namesUnknownCommand(app))
      return app.exit(error);
    std::string name = commandName(app);
    printMessage(name, "error", describeUsageError(app, error));
    std::fprintf(stderr, "see %s --help\n", name.c_str());
    return Usage;
  }

  std::vector<CLI::App *> commands = app.get_subcommands({});
  for (size_t i = 0; i < commands.size(); ++i)
    if (commands[i]->parsed())
      return runAction(commandName(app), [&] {
        return printsConfig(parsedLeaf(*commands[i]), origins) ? Ok
                                                               : actions[i]();
      });
  return Usage;
}
