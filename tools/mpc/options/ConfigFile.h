//===- ConfigFile.h - Options from a configuration file ---------*- C++ -*-===//
//
// The format that `--config FILE` reads and `--print-config` writes is TOML:
//
//   lr = 0.01                     # for every command
//   [compile]
//   precision = "bf16"            # only for mpc compile
//   freeze = ["^embed", "norm"]
//
// Keys are names of options, and names of arguments in lower case ("package",
// "model"). The command line overrides the file.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_OPTIONS_CONFIGFILE_H
#define MPC_TOOLS_MPC_OPTIONS_CONFIGFILE_H

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

namespace mpc::tool {

/// Adds --config and --print-config to a command.
void addConfigTo(CLI::App &command);

/// Where the values of options come from, by name: "run.toml:3".
using Origins = std::map<std::string, std::string>;

/// "mpc train" for the arguments of a process, before they are parsed.
std::string nameOfCommand(CLI::App &app,
                          const std::vector<std::string> &arguments);

/// The arguments of a process together with those from the file of --config.
/// Throws a Failure that names file and line.
std::vector<std::string>
withConfig(CLI::App &app, std::vector<std::string> arguments, Origins &origins);

/// If --print-config was given, prints the values of all options and where they
/// come from, and returns true. The text is a valid file for --config.
bool printsConfig(const CLI::App &command, const Origins &origins);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_CONFIGFILE_H
