//===- Documents.h - Manual pages and completions ---------------*- C++ -*-===//
//
// Generated from CLI11's description of the commands when mpc is built, so they
// always agree with --help.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_OPTIONS_DOCUMENTS_H
#define MPC_TOOLS_MPC_OPTIONS_DOCUMENTS_H

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace mpc::tool {

/// Writes man pages of all commands, completions for bash, zsh and fish, and
/// the table of options to `folder`, laid out like share/ of an installation.
void writeDocuments(const CLI::App &app, const std::string &folder);

/// The manual page of a command, in troff.
std::string manualPage(const CLI::App &command);

/// Markdown tables of compile options and environment variables.
std::string optionTable();

/// All options of all commands as bindings to other languages name them. Each
/// command has a list "options" of objects:
///   keyword   "label_smoothing"
///   flag      "--label-smoothing"
///   type      "flag", "integer", "number" or "text", of one element
///   list      whether the option may be repeated
///   value     what stands for a value in help, "X"; absent for flags
///   choices   all values, if they are words; otherwise absent
///   default   options of mpc compile only; as in a configuration file
///   required  whether the command needs it
///   group     its heading in --help
///   help      one sentence, in which keywords replace flags
nlohmann::ordered_json keywordTable(const CLI::App &app);

std::string bashCompletion(const CLI::App &app);
std::string zshCompletion(const CLI::App &app);
std::string fishCompletion(const CLI::App &app);

/// The name of a command's manual page: "mpc-checkpoint-list".
std::string pageName(const CLI::App &command);

/// The command and all its subcommands, in the order of --help.
std::vector<const CLI::App *> allCommands(const CLI::App &app);

/// The words that an option accepts, if it accepts only certain words.
std::vector<std::string> wordsOf(const CLI::Option &option);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_DOCUMENTS_H
