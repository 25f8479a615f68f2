//===- Help.h - Help and usage errors ---------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_OPTIONS_HELP_H
#define MPC_TOOLS_MPC_OPTIONS_HELP_H

#include <CLI/CLI.hpp>

#include <string>

namespace mpc::tool {

/// `--help-all`, added to a command by addHelpForAll(), also shows groups whose
/// names begin with this.
inline constexpr const char *kRareGroup = "More ";

/// The group of --config for commands that have rare options: also rare.
inline constexpr const char *kConfigGroup = "Configuration files";
void addHelpForAll(CLI::App &command);

/// Formats help with at most 80 columns.
class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter() { column_width(26); }

  std::string make_usage(const CLI::App *app, std::string name) const override;
  std::string make_positionals(const CLI::App *app) const override;
  std::string
  make_group(std::string group, bool isPositional,
             std::vector<const CLI::Option *> options) const override;
  std::string make_option(const CLI::Option *option,
                          bool isPositional) const override;
  std::string make_help(const CLI::App *app, std::string name,
                        CLI::AppFormatMode mode) const override;

private:
  std::string makeGroups(const CLI::App *app, CLI::AppFormatMode mode) const;
};

/// "mpc", "mpc train" or "mpc checkpoint list": the command that was parsed
/// before the usage error.
std::string commandName(const CLI::App &app);

/// Whether the first argument that was not accepted is a misspelled command.
bool namesUnknownCommand(const CLI::App &app);

/// Describes a usage error in one line, if possible with a suggestion.
std::string describeUsageError(const CLI::App &app,
                               const CLI::ParseError &error);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_HELP_H
