//===- ConfigFile.cpp - Options from a configuration file -----------------===//
//
// Values of the file become command-line arguments, so that one parser checks
// both. CLI11's own reader neither unescapes strings (2.1) nor supports
// subcommands.
//
//===----------------------------------------------------------------------===//

#include "tools/mpc/options/ConfigFile.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/Help.h"

#include "passes/Options/OptionText.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <optional>

using namespace mpc::tool;

static constexpr const char *kConfig = "--config";
static constexpr const char *kPrint = "--print-config";
static constexpr size_t kMaxBytes = 1 << 20;

void mpc::tool::addConfigTo(CLI::App &command) {
  // If the command hides rare options, hide these as well.
  bool hasRare = command.get_help_all_ptr() != nullptr;
  std::string group = hasRare ? std::string(kConfigGroup) : "Options";
  command
      .add_option(kConfig,
                  "Read options from a file; the command line takes precedence")
      ->option_text("FILE.toml")
      ->group(group);
  command.add_flag(kPrint, "Print the given options in this format and exit")
      ->group(group);
}

//===----------------------------------------------------------------------===//
// What the user gave
//===----------------------------------------------------------------------===//

namespace {

/// What must be known about the arguments before they are parsed.
class Given {
public:
  Given(CLI::App &app, const std::vector<std::string> &arguments)
      : command(&app) {
    size_t at = 0;
    for (; at < arguments.size(); ++at) {
      CLI::App *sub = findCommand(arguments[at]);
      if (!sub)
        break;
      command = sub;
    }
    for (; at < arguments.size(); ++at)
      take(arguments, at);
  }

  bool has(const CLI::Option *option) const {
    return std::find(options.begin(), options.end(), option) != options.end();
  }

  CLI::App *command;
  std::string config; ///< The value of --config, or "".
  size_t positionals = 0;

private:
  CLI::App *findCommand(const std::string &name) const {
    for (CLI::App *sub : command->get_subcommands({}))
      if (sub->get_name() == name)
        return sub;
    return nullptr;
  }

  void take(const std::vector<std::string> &arguments, size_t &at) {
    const std::string &text = arguments[at];
    if (text.size() < 2 || text[0] != '-') {
      ++positionals;
      return;
    }
    size_t equals = text.find('=');
    const CLI::Option *option = find(text.substr(0, equals));
    if (!option)
      return;
    options.push_back(option);
    bool takesNext = equals == std::string::npos && text[1] == '-'
                         ? option->get_items_expected_min() > 0
                         : text[1] != '-' && text.size() == 2 &&
                               option->get_items_expected_min() > 0;
    std::string value =
        equals == std::string::npos ? "" : text.substr(equals + 1);
    if (takesNext && at + 1 < arguments.size())
      value = arguments[++at];
    if (option->check_lname("config"))
      config = value;
  }

  /// Finds "--output", or "-o" in "-oFILE".
  const CLI::Option *find(const std::string &text) const {
    return command->get_option_no_throw(text[1] == '-' ? text
                                                       : text.substr(0, 2));
  }

  std::vector<const CLI::Option *> options;
};

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Reads a file for one command. Every error names its line.
class ConfigReader {
public:
  ConfigReader(const std::string &path, const Given &given, Origins &origins)
      : path(path), given(given), origins(origins) {}

  std::vector<std::string> read() {
    toml::table table = parse();
    // The table of the command overrides values for all commands.
    for (const auto &[key, node] : table)
      if (node.is_table())
        takeCommand(std::string(key.str()), *node.as_table());
    takeOptions(table);
    return arguments;
  }

private:
  [[noreturn]] void refuse(const toml::node &node, const std::string &why) {
    throw Failure(Usage, lineOf(node) + ": " + why);
  }

  std::string lineOf(const toml::node &node) const {
    return format("%s:%u", path.c_str(), unsigned(node.source().begin.line));
  }

  toml::table parse() {
    std::error_code error;
    uintmax_t size = std::filesystem::file_size(path, error);
    if (!error && size > kMaxBytes)
      throw Failure(Usage, path + " has more than 1 MiB");
    try {
      return toml::parse_file(path);
    } catch (const toml::parse_error &fault) {
      unsigned line = fault.source().begin.line;
      if (line == 0)
        throw Failure(InputOutput, describeUnreadable(path));
      throw Failure(Usage, format("%s:%u: %s", path.c_str(), line,
                                  std::string(fault.description()).c_str()));
    }
  }

  void takeOptions(const toml::table &table) {
    for (const auto &[key, node] : table)
      if (!node.is_table())
        takeOption(std::string(key.str()), node);
  }

  /// Handles a table of this command or of another.
  void takeCommand(const std::string &name, const toml::table &table) {
    const CLI::App *root = given.command;
    while (root->get_parent())
      root = root->get_parent();
    std::vector<std::string> known;
    for (const CLI::App *sub : root->get_subcommands({}))
      known.push_back(sub->get_name());
    if (std::find(known.begin(), known.end(), name) == known.end())
      refuse(table, "unknown command '" + name + "'" + suggest(name, known));
    if (name == nameOfCommand())
      takeOptions(table);
  }

  /// "checkpoint" for "mpc checkpoint list".
  std::string nameOfCommand() const {
    const CLI::App *command = given.command;
    while (command->get_parent() && command->get_parent()->get_parent())
      command = command->get_parent();
    return command->get_name();
  }

  const CLI::Option *findOption(const std::string &name) const {
    for (const CLI::Option *option : given.command->get_options())
      if (option->check_lname(name) ||
          (option->get_positional() && option->get_name(true) == name))
        return option;
    return nullptr;
  }

  void refuseName(const std::string &name, const toml::node &node) {
    std::vector<std::string> known;
    for (const CLI::Option *option : given.command->get_options())
      for (const std::string &longName : option->get_lnames())
        known.push_back(longName);
    refuse(node, "unknown key '" + name + "' for " +
                     commandName(*given.command) + suggest(name, known));
  }

  void takeOption(const std::string &name, const toml::node &node) {
    const CLI::Option *option = findOption(name);
    if (!option || name == "config" || name == "print-config")
      refuseName(name, node);
    std::vector<std::string> values = valuesOf(name, node);
    bool isArgument = option->get_positional() && !option->nonpositional();
    if (given.has(option) || origins.count(name) ||
        (isArgument && given.positionals > 0))
      return;
    origins[name] = lineOf(node);
    if (isArgument)
      arguments.insert(arguments.end(), values.begin(), values.end());
    else
      addOption(*option, name, node, values);
  }

  void addOption(const CLI::Option &option, const std::string &name,
                 const toml::node &node,
                 const std::vector<std::string> &values) {
    const std::string flag = "--" + name;
    // A switch, which may also take a word: --resume=force.
    if (option.get_items_expected_max() == 0 && node.is_boolean()) {
      if (values.front() == "true")
        arguments.push_back(flag);
      return;
    }
    if (values.size() > 1 && option.get_delimiter() != '\0') {
      std::string joined;
      for (const std::string &value : values)
        joined +=
            (joined.empty() ? "" : std::string(1, option.get_delimiter())) +
            value;
      arguments.push_back(flag + "=" + joined);
      return;
    }
    for (const std::string &value : values)
      arguments.push_back(flag + "=" + value);
  }

  std::vector<std::string> valuesOf(const std::string &name,
                                    const toml::node &node) {
    if (const toml::array *array = node.as_array()) {
      std::vector<std::string> values;
      for (const toml::node &element : *array)
        values.push_back(valueOf(name, element));
      return values;
    }
    return {valueOf(name, node)};
  }

  std::string valueOf(const std::string &name, const toml::node &node) {
    if (auto text = node.value_exact<std::string>())
      return *text;
    if (auto flag = node.value_exact<bool>())
      return *flag ? "true" : "false";
    if (auto whole = node.value_exact<int64_t>())
      return std::to_string(*whole);
    if (auto number = node.value_exact<double>())
      return mpc::shortest(*number);
    refuse(node,
           "'" + name +
               "' must be a text, a number, true or false, or a list of them");
  }

  const std::string &path;
  const Given &given;
  Origins &origins;
  std::vector<std::string> arguments;
};

} // namespace

std::string
mpc::tool::nameOfCommand(CLI::App &app,
                         const std::vector<std::string> &arguments) {
  return commandName(*Given(app, arguments).command);
}

std::vector<std::string>
mpc::tool::withConfig(CLI::App &app, std::vector<std::string> arguments,
                      Origins &origins) {
  Given given(app, arguments);
  if (given.config.empty())
    return arguments;
  std::vector<std::string> added =
      ConfigReader(given.config, given, origins).read();
  // Insert them before "--" and the arguments after it.
  auto end = std::find(arguments.begin(), arguments.end(), "--");
  arguments.insert(end, added.begin(), added.end());
  return arguments;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// Formats a value as TOML.
static std::string tomlValue(const std::string &text) {
  static const std::string digits = "0123456789";
  double number;
  bool isNumber = mpc::readValue(text, number) &&
                  text.find_first_not_of(digits + "-.e") == std::string::npos &&
                  digits.find(text[text[0] == '-']) != std::string::npos &&
                  (text.size() < 2 || text[0] != '0' || text[1] == '.');
  if (isNumber || text == "true" || text == "false")
    return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (static_cast<unsigned char>(c) < ' ')
      quoted += format("\\u%04x", unsigned(c));
    else
      quoted += c;
  }
  return quoted + "\"";
}

static std::string tomlValues(const std::vector<std::string> &texts) {
  if (texts.size() == 1)
    return tomlValue(texts.front());
  std::string list;
  for (const std::string &text : texts)
    list += (list.empty() ? "" : ", ") + tomlValue(text);
  return "[" + list + "]";
}

/// The given options of a command, as far as their combinations matter.
static mpc::CompileOptions givenOptions(const CLI::App &command) {
  mpc::CompileOptions options;
  visitOptions(options, [&](mpc::OptionId id, auto &field) {
    const mpc::OptionRow &row = optionRow(id);
    const CLI::Option *option =
        command.get_option_no_throw(std::string("--") + row.name);
    bool isGiven = option && row.isFlag && option->count() > 0;
    if (!isGiven)
      return;
    options.given.insert(row.name);
    // These have another form on the command line.
    if (id != mpc::OptionId::targets && id != mpc::OptionId::policy &&
        id != mpc::OptionId::machine)
      for (const std::string &text : option->results())
        (void)setOption(row, text, field);
  });
  return options;
}

/// Prints, as comments, the defaults of options that were not given but may be
/// given with the others.
static void printDefaults(const CLI::App &command) {
  const mpc::CompileOptions given = givenOptions(command), defaults;
  visitOptions(defaults, [&](mpc::OptionId id, const auto &field) {
    const mpc::OptionRow &row = optionRow(id);
    std::string name = std::string("--") + row.name;
    const CLI::Option *option = command.get_option_no_throw(name);
    std::vector<std::string> values = writeValue(row, field);
    bool isUnset = values.empty() || values.front().empty() ||
                   values.front() == mpc::shortest(mpc::kUnset) ||
                   !row.check(values.front()).empty();
    if (!option || option->count() > 0 || !row.isFlag || isUnset)
      return;
    mpc::CompileOptions both = given;
    both.given.insert(row.name);
    // What is wrong without the option is reported elsewhere.
    if (checkGiven(both) == checkGiven(given))
      printResult("# %s = %s\n", row.name,
                  row.isSwitch() ? "false" : tomlValues(values).c_str());
  });
}

bool mpc::tool::printsConfig(const CLI::App &command, const Origins &origins) {
  const CLI::Option *print = command.get_option_no_throw(kPrint);
  if (!print || print->count() == 0)
    return false;
  for (const CLI::Option *option : command.get_options()) {
    bool isConfig = option == print || option->check_lname("config");
    if (option->count() == 0 || isConfig)
      continue;
    bool isArgument = option->get_positional() && !option->nonpositional();
    std::string name =
        isArgument ? option->get_name(true) : option->get_lnames().front();
    auto origin = origins.find(name);
    printResult(
        "%s = %s  # %s\n", name.c_str(), tomlValues(option->results()).c_str(),
        origin == origins.end() ? "command line" : origin->second.c_str());
  }
  if (command.get_name() == "compile")
    printDefaults(command);
  return true;
}
