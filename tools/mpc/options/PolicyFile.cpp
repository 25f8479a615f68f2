//===- PolicyFile.cpp - Precision rules in a file -------------------------===//

#include "tools/mpc/options/PolicyFile.h"
#include "compiler/Support/Precision/Formats.h"
#include "passes/Options/OptionChecks.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/TomlFile.h"

#include <optional>

using namespace mpc::tool;

static constexpr int64_t kVersion = 1;
static const std::vector<std::string> kFormatNames = [] {
  std::vector<std::string> names;
  for (const mpc::FormatFacts &row : mpc::kFormats)
    if (!row.option.empty())
      names.emplace_back(row.option);
  names.emplace_back("low");
  return names;
}();
static const std::vector<std::string> kResiduals = {"low", "fp32"};

namespace {

/// Reads a file. Every error names its line.
class PolicyReader {
public:
  explicit PolicyReader(const std::string &path) : file(path, "policy") {}

  PrecisionPolicy read() {
    const toml::table &table = file.table();
    file.checkKeys(table, {"version", "precision", "residual", "rule"});
    file.checkVersion(kVersion);
    PrecisionPolicy policy;
    if (const toml::node *precision = table.get("precision"))
      policy.precision =
          word(*precision, "precision", mpc::check::precision().words);
    if (const toml::node *residual = table.get("residual"))
      policy.residual = word(*residual, "residual", kResiduals);
    if (const toml::node *rules = table.get("rule"))
      readRules(*rules, policy);
    return policy;
  }

private:
  std::string text(const toml::node &node, const char *key) {
    std::optional<std::string> value = node.value<std::string>();
    if (!value || value->empty())
      file.refuse(node, std::string(key) + " must be a text");
    return *value;
  }

  std::string word(const toml::node &node, const char *key,
                   const std::vector<std::string> &known) {
    std::string value = text(node, key);
    if (std::find(known.begin(), known.end(), value) == known.end())
      file.refuse(node, std::string(key) + " must be one of " +
                            joinWords(known) + ", but is '" + value + "'" +
                            suggest(value, known));
    return value;
  }

  void readRules(const toml::node &node, PrecisionPolicy &policy) {
    const toml::array *rules = node.as_array();
    if (!rules)
      file.refuse(node, "rules are written as [[rule]]");
    for (const toml::node &entry : *rules) {
      const toml::table *rule = entry.as_table();
      if (!rule)
        file.refuse(entry, "rules are written as [[rule]]");
      file.checkKeys(*rule, {"match", "format"});
      const toml::node *match = rule->get("match"),
                       *format = rule->get("format");
      if (!match || !format)
        file.refuse(entry, "a rule needs 'match' and 'format'");
      policy.rules.push_back({text(*match, "match"),
                              word(*format, "format", kFormatNames),
                              unsigned(match->source().begin.line)});
    }
  }

  const TomlFile file;
};

} // namespace

PrecisionPolicy mpc::tool::readPolicy(const std::string &path) {
  return PolicyReader(path).read();
}

std::string mpc::tool::printPolicy(const PrecisionPolicy &policy) {
  std::string text =
      format("version = %lld\n", static_cast<long long>(kVersion));
  if (!policy.precision.empty())
    text += "precision = " + quoteToml(policy.precision) + "\n";
  if (!policy.residual.empty())
    text += "residual = " + quoteToml(policy.residual) + "\n";
  for (const PrecisionRule &rule : policy.rules)
    text += "\n[[rule]]\nmatch = " + quoteToml(rule.match) +
            "\nformat = " + quoteToml(rule.format) + "\n";
  return text;
}

PrecisionRule mpc::tool::parsePrecisionRule(const std::string &option,
                                            const std::string &text) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0)
    throw Failure(Usage,
                  option + " must be REGEX=FORMAT, but is '" + text + "'");
  PrecisionRule rule = {text.substr(0, at), text.substr(at + 1), /*line=*/0};
  if (std::find(kFormatNames.begin(), kFormatNames.end(), rule.format) ==
      kFormatNames.end())
    throw Failure(Usage, option + "='" + text + "': unknown format '" +
                             rule.format + "'; use " +
                             joinWords(kFormatNames, "or") +
                             suggest(rule.format, kFormatNames));
  return rule;
}

std::string mpc::tool::formatRule(const PrecisionRule &rule) {
  return rule.match + "=" + rule.format;
}
