//===- Documents.cpp - Manual pages ---------------------------------------===//

#include "tools/mpc/options/Documents.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/Version.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/options/Help.h"

#include "passes/Options/OptionText.h"

#include <filesystem>
#include <sstream>

using namespace mpc::tool;

std::string mpc::tool::pageName(const CLI::App &command) {
  std::string name = command.get_name();
  for (const CLI::App *parent = command.get_parent(); parent;
       parent = parent->get_parent())
    name = parent->get_name() + "-" + name;
  return name;
}

std::vector<const CLI::App *> mpc::tool::allCommands(const CLI::App &app) {
  std::vector<const CLI::App *> all = {&app};
  for (const CLI::App *sub : app.get_subcommands({}))
    for (const CLI::App *command : allCommands(*sub))
      all.push_back(command);
  return all;
}

std::vector<std::string> mpc::tool::wordsOf(const CLI::Option &option) {
  std::vector<std::string> words;
  // asValidator describes a check as "TEXT:low|fp32".
  std::string type = option.get_type_name();
  size_t colon = type.find(':');
  std::istringstream list(colon == std::string::npos ? ""
                                                     : type.substr(colon + 1));
  for (std::string word; std::getline(list, word, '|');)
    words.push_back(word);
  return words;
}

//===----------------------------------------------------------------------===//
// Manual pages
//===----------------------------------------------------------------------===//

/// Escapes text for troff: no requests, no escapes, real hyphens.
static std::string escape(const std::string &text) {
  std::string escaped;
  for (char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  bool isRequest =
      !escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'');
  return (isRequest ? "\\&" : "") + escaped;
}

static std::string bold(const std::string &text) {
  return "\\fB" + escape(text) + "\\fR";
}

static std::string italic(const std::string &text) {
  return "\\fI" + escape(text) + "\\fR";
}

static std::string words(std::string name) {
  for (char &c : name)
    c = c == '-' ? ' ' : c;
  return name;
}

static std::string describe(const CLI::Option &option) {
  std::string names;
  auto add = [&](const std::string &name) {
    names += (names.empty() ? "" : ", ") + bold(name);
  };
  for (const std::string &name : option.get_snames())
    add("-" + name);
  for (const std::string &name : option.get_lnames())
    add("--" + name);
  if (!option.nonpositional())
    names = italic(option.get_option_text());
  else if (!option.get_option_text().empty())
    names += " " + italic(option.get_option_text());
  return ".TP\n" + names + "\n" + escape(option.get_description()) + "\n";
}

static std::string synopsis(const CLI::App &command) {
  std::string text = bold(words(pageName(command)));
  for (const CLI::Option *option : command.get_options())
    if (!option->nonpositional())
      text += " " + italic(option->get_option_text());
  for (const CLI::Option *option : command.get_options())
    if (option->nonpositional() && option->get_required())
      text += " " + bold("--" + option->get_lnames().front()) + " " +
              italic(option->get_option_text());
  if (!command.get_subcommands({}).empty())
    text += " " + italic("COMMAND");
  return text + " [" + italic("OPTIONS") + "]\n";
}

static std::string environment() {
  std::string text = ".SH ENVIRONMENT\n";
#define MPC_VARIABLE(NAME, VALUES, HELP)                                       \
  text += ".TP\n" + bold(NAME) + "=" + italic(VALUES) + "\n" + escape(HELP) +  \
          "\n";
#include "tools/mpc/options/Environment.def"
  return text;
}

static std::string exitCodes() {
  static constexpr std::pair<ExitCode, const char *> kCodes[] = {
      {Ok, "Success"},
      {Error, "Internal error of mpc; for compare and report: a difference"},
      {Usage, "Invalid usage, or data that does not match the model"},
      {InvalidModel, "The model is invalid or uses unsupported features"},
      {InputOutput, "A file cannot be read or written"},
      {Damaged, "A package or checkpoint is damaged or does not match"},
      {Numeric, "Training diverged"},
      {Limit, "Out of memory, or a limit was exceeded"},
      {NoDevice,
       "The device does not exist, or the package has no code for it"},
      {Stopped, "Stopped by a signal; run again with --resume"}};
  std::string text = ".SH EXIT STATUS\n";
  for (const auto &[code, meaning] : kCodes)
    text +=
        ".TP\n" + bold(std::to_string(code)) + "\n" + escape(meaning) + "\n";
  return text;
}

std::string mpc::tool::manualPage(const CLI::App &command) {
  std::string name = pageName(command);
  std::string text =
      ".TH " + escape(name) +
      " 1 \"\" \"mpc " MPC_VERSION "\" \"User Commands\"\n.SH NAME\n" +
      escape(name) + " \\- " + escape(command.get_description()) +
      "\n.SH SYNOPSIS\n" + synopsis(command);
  std::vector<const CLI::App *> subs = command.get_subcommands({});
  if (!subs.empty())
    text += ".SH COMMANDS\n";
  for (const CLI::App *sub : subs)
    text += ".TP\n" + bold(sub->get_name()) + "\n" +
            escape(sub->get_description()) + "; see " + bold(pageName(*sub)) +
            "(1)\n";
  std::string arguments;
  for (const CLI::Option *option : command.get_options())
    if (!option->nonpositional())
      arguments += describe(*option);
  if (!arguments.empty())
    text += ".SH ARGUMENTS\n" + arguments;
  for (const std::string &group : command.get_groups()) {
    text += ".SH " + escape(group.empty() ? "Options" : group) + "\n";
    for (const CLI::Option *option : command.get_options())
      if (option->nonpositional() && option->get_group() == group)
        text += describe(*option);
  }
  if (!command.get_parent())
    text += exitCodes() + environment();
  else
    text += ".SH SEE ALSO\n" + bold(pageName(*command.get_parent())) + "(1)\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

/// Escapes text for a cell of a Markdown table.
static std::string cell(const std::string &text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_')
      escaped += '\\';
    escaped += c;
  }
  return " " + escaped + " |";
}

static const char *nameOf(mpc::Resume resume) {
  switch (resume) {
  case mpc::Resume::Silent:
    return "";
  case mpc::Resume::Note:
    return "note";
  case mpc::Resume::NeedsForce:
    return "error without --resume=force";
  case mpc::Resume::AddsState:
    return "note; some states are reset";
  }
  return "";
}

std::string mpc::tool::optionTable() {
  std::string text =
      "# Options of a compilation\n\n| option | value | default | | in "
      "packages | changed at a resume | export --training |\n| --- | --- | --- "
      "| --- | --- | --- | --- |\n";
  const mpc::CompileOptions defaults;
  visitOptions(defaults, [&](mpc::OptionId id, const auto &field) {
    const mpc::OptionRow &row = mpc::optionRow(id);
    std::string byDefault = mpc::writeWhole(row, field);
    if (byDefault == mpc::shortest(mpc::kUnset))
      byDefault = "of the optimizer";
    using When = mpc::Remembered::When;
    bool isRefused = row.exported == mpc::Export::Refused;
    text += "|" + cell(row.name) + cell(row.metavar) + cell(byDefault) +
            cell(withFlags(row.help)) +
            cell(row.package.when == When::Never   ? ""
                 : row.package.when == When::IfSet ? "if set"
                                                   : "yes") +
            cell(nameOf(row.resume)) + cell(isRefused ? "default only" : "") +
            "\n";
  });
  text += "\n# Environment variables\n\n| variable | value | |\n| --- | --- | "
          "--- |\n";
#define MPC_VARIABLE(NAME, VALUES, HELP)                                       \
  text += "|" + cell(NAME) + cell(VALUES) + cell(HELP) + "\n";
#include "tools/mpc/options/Environment.def"
  return text;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

void mpc::tool::writeDocuments(const CLI::App &app, const std::string &folder) {
  auto write = [&](const std::string &path, const std::string &text) {
    std::filesystem::path place = std::filesystem::path(folder) / path;
    createFolders(place.parent_path().string());
    writeFile(place.string(), text);
  };
  for (const CLI::App *command : allCommands(app))
    write("man/man1/" + pageName(*command) + ".1", manualPage(*command));
  write("doc/mpc/OPTIONS.md", optionTable());
  write("doc/mpc/options.json", keywordTable(app).dump(2) + "\n");
  write("bash-completion/completions/mpc", bashCompletion(app));
  write("zsh/site-functions/_mpc", zshCompletion(app));
  write("fish/vendor_completions.d/mpc.fish", fishCompletion(app));
}
