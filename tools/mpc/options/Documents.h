//===- Documents.h - Manual pages and completions ---------------*- C++ -*-===//
//
// Made of the commands as CLI11 has them, when mpc is built: what --help says
// cannot differ from them.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_OPTIONS_DOCUMENTS_H
#define MPC_TOOLS_MPC_OPTIONS_DOCUMENTS_H

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace mpc::tool {

/// Writes man pages of all commands, completions for bash, zsh and fish, and
/// the table of options below `folder`, where an installation has them below
/// share/.
void writeDocuments(const CLI::App &app, const std::string &folder);

/// The manual page of a command, in troff.
std::string manualPage(const CLI::App &command);

/// A table of the options of a compilation and of environment variables, in
/// Markdown.
std::string optionTable();

std::string bashCompletion(const CLI::App &app);
std::string zshCompletion(const CLI::App &app);
std::string fishCompletion(const CLI::App &app);

/// "mpc-checkpoint-list": the name of the page of a command.
std::string pageName(const CLI::App &command);

/// The command and all below it, in the order of --help.
std::vector<const CLI::App *> allCommands(const CLI::App &app);

/// Words that an option takes, if its help lists them: "fp32, bf16 or fp16".
std::vector<std::string> wordsOf(const CLI::Option &option);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_DOCUMENTS_H
