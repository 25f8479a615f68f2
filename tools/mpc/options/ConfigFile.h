//===- ConfigFile.h - Options of a command in a file ------------*- C++ -*-===//
//
// What `--config FILE` reads and `--print-config` writes, TOML:
//
//   lr = 0.01                     # for every command
//   [compile]
//   precision = "bf16"            # for mpc compile alone
//   freeze = ["^embed", "norm"]
//
// Keys are the names of options, and of arguments in lower case ("package",
// "model"). The command line overrules the file.
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

/// Where options have their values from, by name: "run.toml:3".
using Origins = std::map<std::string, std::string>;

/// The arguments of a process with those that the file of --config adds. Throws
/// a Failure that names file and line.
std::vector<std::string>
withConfig(CLI::App &app, std::vector<std::string> arguments, Origins &origins);

/// If --print-config was given to the command: what it was told, and by whom.
/// A file of this text says the same again.
bool printsConfig(const CLI::App &command, const Origins &origins);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_CONFIGFILE_H
