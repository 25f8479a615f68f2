//===- Keywords.cpp - Options as keywords of a language binding -----------===//

#include "tools/mpc/Version.h"
#include "tools/mpc/options/Documents.h"

#include "passes/Options/OptionRow.h"

#include <algorithm>
#include <cctype>

using namespace mpc::tool;
using Json = nlohmann::ordered_json;

static std::string keywordOf(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

/// Replaces "--label-smoothing" by "label_smoothing" in a sentence.
static std::string withKeywords(const std::string &text) {
  auto isInName = [](char c) {
    return std::islower(static_cast<unsigned char>(c)) ||
           std::isdigit(static_cast<unsigned char>(c)) || c == '-';
  };
  std::string result;
  for (size_t at = 0; at < text.size();) {
    bool isFlag = text.compare(at, 2, "--") == 0 && at + 2 < text.size() &&
                  isInName(text[at + 2]) &&
                  (at == 0 || !isInName(text[at - 1]));
    if (!isFlag) {
      result += text[at++];
      continue;
    }
    size_t end = at + 2;
    while (end < text.size() && isInName(text[end]))
      ++end;
    result += keywordOf(text.substr(at + 2, end - at - 2));
    at = end;
  }
  return result;
}

/// "flag", "integer", "number" or "text".
static const char *typeOf(const CLI::Option &option) {
  if (option.get_items_expected_max() == 0)
    return "flag";
  std::string name = option.get_type_name();
  auto begins = [&](const char *prefix) { return name.rfind(prefix, 0) == 0; };
  if (begins("INT") || begins("UINT"))
    return "integer";
  return begins("FLOAT") ? "number" : "text";
}

static Json describe(const CLI::App &command, const CLI::Option &option) {
  const std::string &name = option.get_lnames().front();
  bool isFlag = option.get_items_expected_max() == 0;
  Json json = {{"keyword", keywordOf(name)},
               {"flag", "--" + name},
               {"type", typeOf(option)},
               {"list", option.get_multi_option_policy() ==
                            CLI::MultiOptionPolicy::TakeAll}};
  if (!isFlag)
    json["value"] = option.get_option_text();
  if (std::vector<std::string> words = wordsOf(option); !words.empty())
    json["choices"] = words;
  const mpc::OptionRow *row = mpc::findOption(name);
  if (row && command.get_name() == "compile")
    json["default"] = row->byDefault;
  json["required"] = option.get_required();
  json["group"] = option.get_group();
  json["help"] = withKeywords(option.get_description());
  return json;
}

Json mpc::tool::keywordTable(const CLI::App &app) {
  Json commands = Json::array();
  for (const CLI::App *command : allCommands(app)) {
    Json options = Json::array();
    for (const CLI::Option *option : command->get_options())
      if (option->nonpositional() && !option->get_lnames().empty() &&
          option->get_name() != "--help" && option->get_name() != "--help-all")
        options.push_back(describe(*command, *option));
    commands.push_back({{"command", pageName(*command)},
                        {"help", command->get_description()},
                        {"options", options}});
  }
  return {{"version", MPC_VERSION}, {"commands", commands}};
}
