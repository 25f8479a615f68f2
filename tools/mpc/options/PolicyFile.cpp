//===- PolicyFile.cpp - Precision rules in a file -------------------------===//

#include "tools/mpc/options/PolicyFile.h"
#include "compiler/Support/Precision/Formats.h"
#include "passes/Options/OptionChecks.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Text.h"

#include <toml++/toml.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

using namespace mpc::tool;

static constexpr int64_t kVersion = 1;
static constexpr size_t kMaxBytes = 1 << 20;
static constexpr unsigned kMaxKeyParts = 16;
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
  explicit PolicyReader(const std::string &path) : path(path) {}

  PrecisionPolicy read() {
    toml::table table = parse();
    checkKeys(table, {"version", "precision", "residual", "rule"});
    const toml::node *version = table.get("version");
    if (!version)
      refuse(table, format("no version is given; add 'version = %lld'",
                           static_cast<long long>(kVersion)));
    std::optional<int64_t> number = version->value<int64_t>();
    if (!number)
      refuse(*version, "version must be a number");
    if (*number != kVersion)
      refuse(*version,
             format("version %lld is not supported; this mpc reads version "
                    "%lld",
                    static_cast<long long>(*number),
                    static_cast<long long>(kVersion)));
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
  [[noreturn]] void refuse(const toml::node &node, const std::string &why) {
    throw Failure(Usage,
                  format("%s:%u: %s", path.c_str(),
                         unsigned(node.source().begin.line), why.c_str()));
  }

  toml::table parse() {
    // Reject only folders, which can be opened; pipes of a shell are fine.
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
      throw Failure(InputOutput, "policy '" + path + "' is a folder");
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file)
      throw Failure(InputOutput, describeUnreadable(path));
    checkSize(text);
    try {
      return toml::parse(text);
    } catch (const toml::parse_error &error) {
      throw Failure(Usage, format("%s:%u: %s", path.c_str(),
                                  unsigned(error.source().begin.line),
                                  std::string(error.description()).c_str()));
    }
  }

  /// Limits the size and the nesting of keys: the parser recurses into each
  /// part of a key without a limit.
  void checkSize(const std::string &text) {
    if (text.size() > kMaxBytes)
      throw Failure(
          Usage,
          format("policy '%s' has %s, more than the %s that a policy may have",
                 path.c_str(), formatBytes(text.size()).c_str(),
                 formatBytes(kMaxBytes).c_str()));
    unsigned line = 1, dots = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      char c = text[i];
      if (c == '"' || c == '\'') {
        i = skipString(text, i, line);
        continue;
      }
      if (c == '#')
        i = std::min(text.find('\n', i), text.size()) - 1;
      line += c == '\n';
      // These characters end a key.
      if (c == '\n' || c == '=' || c == ',')
        dots = 0;
      dots += c == '.';
      if (dots >= kMaxKeyParts)
        throw Failure(Usage, format("%s:%u: a key has more than %u parts",
                                    path.c_str(), line, kMaxKeyParts));
    }
  }

  /// The position of the closing quote of the string that begins at `at`.
  static size_t skipString(const std::string &text, size_t at, unsigned &line) {
    std::string quote(1, text[at]);
    if (text.compare(at, 3, std::string(3, text[at])) == 0)
      quote = std::string(3, text[at]);
    size_t i = at + quote.size();
    while (i < text.size() && text.compare(i, quote.size(), quote) != 0) {
      line += text[i] == '\n';
      i += text[i] == '\\' && quote[0] == '"' ? 2 : 1;
    }
    return std::min(i + quote.size(), text.size()) - 1;
  }

  void checkKeys(const toml::table &table,
                 const std::vector<std::string> &known) {
    for (const auto &[key, node] : table) {
      std::string name(key.str());
      if (std::find(known.begin(), known.end(), name) == known.end())
        refuse(node, "'" + name + "' is not a policy key" +
                         suggest(name, known) + "; known are " +
                         joinWords(known));
    }
  }

  std::string text(const toml::node &node, const char *key) {
    std::optional<std::string> value = node.value<std::string>();
    if (!value || value->empty())
      refuse(node, std::string(key) + " must be a text");
    return *value;
  }

  std::string word(const toml::node &node, const char *key,
                   const std::vector<std::string> &known) {
    std::string value = text(node, key);
    if (std::find(known.begin(), known.end(), value) == known.end())
      refuse(node, std::string(key) + " must be one of " + joinWords(known) +
                       ", but is '" + value + "'" + suggest(value, known));
    return value;
  }

  void readRules(const toml::node &node, PrecisionPolicy &policy) {
    const toml::array *rules = node.as_array();
    if (!rules)
      refuse(node, "rules are written as [[rule]]");
    for (const toml::node &entry : *rules) {
      const toml::table *rule = entry.as_table();
      if (!rule)
        refuse(entry, "rules are written as [[rule]]");
      checkKeys(*rule, {"match", "format"});
      const toml::node *match = rule->get("match"),
                       *format = rule->get("format");
      if (!match || !format)
        refuse(entry, "a rule needs 'match' and 'format'");
      policy.rules.push_back({text(*match, "match"),
                              word(*format, "format", kFormatNames),
                              unsigned(match->source().begin.line)});
    }
  }

  const std::string &path;
};

} // namespace

PrecisionPolicy mpc::tool::readPolicy(const std::string &path) {
  return PolicyReader(path).read();
}

/// Quotes text as a basic string of TOML.
static std::string quote(const std::string &text) {
  std::string result = "\"";
  for (unsigned char c : text)
    if (c == '"' || c == '\\')
      result += {'\\', char(c)};
    else if (c < ' ' || c == 0x7f)
      result += format("\\u%04x", c);
    else
      result += char(c);
  return result + "\"";
}

std::string mpc::tool::printPolicy(const PrecisionPolicy &policy) {
  std::string text =
      format("version = %lld\n", static_cast<long long>(kVersion));
  if (!policy.precision.empty())
    text += "precision = " + quote(policy.precision) + "\n";
  if (!policy.residual.empty())
    text += "residual = " + quote(policy.residual) + "\n";
  for (const PrecisionRule &rule : policy.rules)
    text += "\n[[rule]]\nmatch = " + quote(rule.match) +
            "\nformat = " + quote(rule.format) + "\n";
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
