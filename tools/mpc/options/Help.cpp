//===- Help.cpp - Help and usage errors -----------------------------------===//

#include "tools/mpc/options/Help.h"
#include "tools/mpc/base/Text.h"

#include <cctype>
#include <sstream>

using namespace mpc::tool;

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

/// Formats two columns; the second is wrapped at 80.
static std::string twoColumns(const std::string &left, const std::string &right,
                              size_t width) {
  std::string text = "  " + left;
  size_t column = text.size();
  auto newLine = [&] {
    text += "\n" + std::string(width, ' ');
    column = width;
  };
  if (column + 2 > width) {
    newLine();
  } else {
    text += std::string(width - column, ' ');
    column = width;
  }
  std::istringstream words(right);
  for (std::string word; words >> word;) {
    if (column > width && column + 1 + word.size() > 80)
      newLine();
    else if (column > width) {
      text += ' ';
      ++column;
    }
    text += word;
    column += word.size();
  }
  return text + "\n";
}

static std::vector<const CLI::Option *> positionalsOf(const CLI::App *app) {
  return app->get_options(
      [](const CLI::Option *option) { return option->get_positional(); });
}

std::string HelpFormatter::make_usage(const CLI::App *app, std::string) const {
  std::string usage = "usage: " + app->get_name();
  for (const CLI::App *parent = app->get_parent(); parent;
       parent = parent->get_parent())
    usage.insert(7, parent->get_name() + " ");
  for (const CLI::Option *option : positionalsOf(app))
    usage += " " + option->get_option_text();
  for (const CLI::Option *option : app->get_options())
    if (option->nonpositional() && option->get_required())
      usage += " --" + option->get_lnames().front() + " " +
               option->get_option_text();
  if (!app->get_subcommands({}).empty())
    usage += " COMMAND";
  return usage + " [OPTIONS]\n";
}

std::string HelpFormatter::make_positionals(const CLI::App *app) const {
  std::vector<const CLI::Option *> positionals = positionalsOf(app);
  return positionals.empty() ? "" : make_group("", true, positionals);
}

std::string
HelpFormatter::make_group(std::string group, bool isPositional,
                          std::vector<const CLI::Option *> options) const {
  std::string text = "\n" + (group.empty() ? "" : group + ":\n");
  for (const CLI::Option *option : options)
    text += make_option(option, isPositional);
  return text;
}

std::string HelpFormatter::make_option(const CLI::Option *option,
                                       bool isPositional) const {
  std::string left;
  if (isPositional) {
    left = option->get_option_text();
  } else {
    for (const std::string &name : option->get_snames())
      left += "-" + name + ", ";
    if (!option->get_lnames().empty())
      left += "--" + option->get_lnames().front();
    if (!option->get_option_text().empty())
      left += " " + option->get_option_text();
  }
  return twoColumns(left, option->get_description(), get_column_width());
}

void mpc::tool::addHelpForAll(CLI::App &command) {
  command.set_help_all_flag("--help-all",
                            "Print all options, including rare ones");
}

std::string HelpFormatter::makeGroups(const CLI::App *app,
                                      CLI::AppFormatMode mode) const {
  std::string text;
  for (const std::string &group : app->get_groups()) {
    bool isRare = group.rfind(kRareGroup, 0) == 0 || (group == kConfigGroup);
    if (isRare && mode != CLI::AppFormatMode::All)
      continue;
    std::vector<const CLI::Option *> options =
        app->get_options([&](const CLI::Option *option) {
          return option->nonpositional() && option->get_group() == group;
        });
    if (!options.empty())
      text += make_group(group, false, options);
  }
  return text;
}

std::string HelpFormatter::make_help(const CLI::App *app, std::string name,
                                     CLI::AppFormatMode mode) const {
  if (mode == CLI::AppFormatMode::Sub)
    return twoColumns(app->get_name(), app->get_description(),
                      get_column_width());
  std::string text = app->get_description() + "\n\n" + make_usage(app, name) +
                     make_positionals(app);
  std::string subcommands;
  for (const CLI::App *sub : app->get_subcommands({}))
    subcommands += twoColumns(sub->get_name(), sub->get_description(), 14);
  if (!subcommands.empty())
    text += "\nCommands:\n" + subcommands;
  text += makeGroups(app, mode);
  // CLI11 passes the footer of the command on to its subcommands.
  if (!app->get_parent() && !app->get_footer().empty())
    text += "\n" + app->get_footer() + "\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Wrong usage
//===----------------------------------------------------------------------===//

/// The innermost command that was named.
static const CLI::App *commandOf(const CLI::App &app) {
  const CLI::App *command = &app;
  while (!command->get_subcommands().empty())
    command = command->get_subcommands().front();
  return command;
}

std::string mpc::tool::commandName(const CLI::App &app) {
  const CLI::App *command = commandOf(app);
  std::string name = command->get_name();
  while ((command = command->get_parent()))
    name = command->get_name() + " " + name;
  return name;
}

/// A message if the argument needs the compiler, for builds without it;
/// otherwise "".
static std::string lackingCompiler(const CLI::App &command,
                                   const std::string &extra) {
  bool isCommand =
      !command.get_parent() && (extra == "compile" || extra == "export" ||
                                extra == "report" || extra == "debug");
  bool isModel = command.get_name() == "doctor" && extra[0] != '-';
  if (!isCommand && !isModel)
    return "";
  return std::string("'mpc ") + (isModel ? "doctor MODEL" : extra) +
         "' requires the compiler, but this mpc was built without it";
}

/// "; it belongs to mpc train" for an option of another command. Prefers `mpc
/// compile`, where most options are set. "" if no command or several have it.
static std::string describeOwner(const CLI::App &command,
                                 const std::string &name) {
  if (!command.get_parent())
    return "";
  std::string prefix = command.get_parent()->get_name() + " ";
  const CLI::App *owner = nullptr;
  unsigned count = 0;
  for (const CLI::App *other : command.get_parent()->get_subcommands({})) {
    if (!other->get_option_no_throw(name))
      continue;
    if (other->get_name() == "compile" && name != "--output")
      return "; set it when compiling: " + prefix + "compile " + name;
    owner = other;
    ++count;
  }
  return count == 1 ? "; it belongs to " + prefix + owner->get_name() : "";
}

/// The commands without subcommands below `app`, as they are typed.
static std::vector<std::string> fullNames(const CLI::App &app,
                                          const std::string &prefix) {
  std::vector<std::string> names;
  for (const CLI::App *sub : app.get_subcommands({})) {
    std::string name = prefix + sub->get_name();
    std::vector<std::string> inner = fullNames(*sub, name + " ");
    if (inner.empty())
      inner = {name};
    names.insert(names.end(), inner.begin(), inner.end());
  }
  return names;
}

/// "; did you mean 'mpc debug bisect'?" for "mpc bisect"; otherwise "".
static std::string suggestFullName(const CLI::App &command,
                                   const std::string &extra) {
  for (const std::string &name : fullNames(command, command.get_name() + " "))
    if (name.size() > extra.size() + 1 &&
        name.compare(name.size() - extra.size() - 1, std::string::npos,
                     " " + extra) == 0)
      return "; did you mean '" + name + "'?";
  return "";
}

/// Describes an argument that no option and no command accepted.
static std::string describeExtra(const CLI::App &command,
                                 const std::string &extra) {
  if (positionalsOf(&command).empty())
    if (std::string lacking = lackingCompiler(command, extra); !lacking.empty())
      return lacking;
  if (extra.size() > 1 && extra[0] == '-') {
    std::string name = extra.substr(0, extra.find('='));
    std::vector<std::string> known;
    for (const CLI::Option *option : command.get_options())
      for (const std::string &longName : option->get_lnames())
        known.push_back(longName);
    if (name == "--help-all" && command.get_parent()) {
      std::string own = command.get_name();
      for (const CLI::App *parent = command.get_parent(); parent;
           parent = parent->get_parent())
        own = parent->get_name() + " " + own;
      return own + " has no --help-all; " + own + " --help lists all options";
    }
    if (std::string owner = describeOwner(command, name); !owner.empty())
      return "unknown option '" + name + "'" + owner;
    // Compare without the dashes, which all options have.
    size_t dashes = std::min(name.find_first_not_of('-'), name.size());
    std::string nearest = findNearest(name.substr(dashes), known);
    return "unknown option '" + name + "'" +
           (nearest.empty() ? "" : "; did you mean '--" + nearest + "'?");
  }
  std::vector<std::string> commands;
  for (const CLI::App *sub : command.get_subcommands({}))
    commands.push_back(sub->get_name());
  if (!commands.empty()) {
    std::string full = suggestFullName(command, extra);
    return "unknown command '" + extra + "'" +
           (full.empty() ? suggest(extra, commands) : full);
  }
  return "unexpected argument '" + extra + "'";
}

/// The placeholder of an argument instead of CLI11's name, which users never
/// see.
static std::string shownName(const CLI::App &command, const std::string &name) {
  for (const CLI::Option *option : positionalsOf(&command))
    if (option->get_name(true) == name || option->get_name() == name) {
      std::string text = option->get_option_text();
      // "[MODEL.onnx]" may be left out.
      return text.size() > 2 && text.front() == '[' && text.back() == ']'
                 ? text.substr(1, text.size() - 2)
                 : text;
    }
  return name;
}

bool mpc::tool::namesUnknownCommand(const CLI::App &app) {
  if (commandOf(app)->get_subcommands({}).empty())
    return false;
  std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  return !extras.empty() && extras.front()[0] != '-';
}

std::string mpc::tool::describeUsageError(const CLI::App &app,
                                          const CLI::ParseError &error) {
  // Whatever error CLI11 reports, an argument that was not accepted is the
  // likely cause: with --dta, --data is missing.
  const CLI::App *command = commandOf(app);
  std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  for (const std::string &extra : extras)
    if (extra != "--")
      return describeExtra(*command, extra);

  std::string message = error.what();
  const std::string excludes = " excludes ";
  if (size_t at = message.find(excludes);
      dynamic_cast<const CLI::ExcludesError *>(&error) && at != message.npos)
    return shownName(*command, message.substr(0, at)) + " and " +
           shownName(*command, message.substr(at + excludes.size())) +
           " cannot be combined";
  if (dynamic_cast<const CLI::RequiredError *>(&error)) {
    std::string suffix = " is required";
    size_t at = message.find(suffix);
    if (message == "A subcommand is required")
      return "a command is required";
    if (at != std::string::npos)
      return shownName(*command, message.substr(0, at)) + suffix;
  }
  // CLI11 says "--data: 1 required TEXT missing"; count and type do not help.
  if (dynamic_cast<const CLI::ArgumentMismatch *>(&error))
    if (const CLI::Option *option =
            command->get_option_no_throw(message.substr(0, message.find(':'))))
      return option->count() > 1
                 ? option->get_name() + " is given more than once"
                 : option->get_name() + " must be given as " +
                       option->get_name() + " " + option->get_option_text();
  if (!message.empty())
    message[0] = std::tolower(static_cast<unsigned char>(message[0]));
  return message;
}
