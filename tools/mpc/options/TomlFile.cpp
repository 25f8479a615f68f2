//===- TomlFile.cpp - Files in TOML that users write ----------------------===//

#include "tools/mpc/options/TomlFile.h"
#include "passes/Options/OptionChecks.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Text.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

using namespace mpc::tool;

static constexpr size_t kMaxTomlBytes = 1 << 20;
static constexpr unsigned kMaxKeyParts = 16;

TomlFile::TomlFile(const std::string &path, const std::string &what)
    : path(path), what(what) {
  // Reject only folders, which can be opened; pipes of a shell are fine.
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw Failure(InputOutput, what + " '" + path + "' is a folder");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    throw Failure(InputOutput, describeUnreadable(path));
  checkSize(text);
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error &error) {
    throw Failure(Usage, format("%s:%u: %s", path.c_str(),
                                unsigned(error.source().begin.line),
                                std::string(error.description()).c_str()));
  }
}

void TomlFile::refuse(const toml::node &node, const std::string &why) const {
  throw Failure(Usage, format("%s:%u: %s", path.c_str(),
                              unsigned(node.source().begin.line), why.c_str()));
}

void TomlFile::checkKeys(const toml::table &table,
                         const std::vector<std::string> &known) const {
  for (const auto &[key, node] : table) {
    std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) == known.end())
      refuse(node, "'" + name + "' is not a " + what + " key" +
                       suggest(name, known) + "; known are " +
                       joinWords(known));
  }
}

void TomlFile::checkVersion(int64_t supported) const {
  auto print = [](int64_t number) {
    return std::to_string(static_cast<long long>(number));
  };
  const toml::node *version = root.get("version");
  if (!version)
    refuse(root,
           "no version is given; add 'version = " + print(supported) + "'");
  std::optional<int64_t> number = version->value<int64_t>();
  if (!number)
    refuse(*version, "version must be a number");
  if (*number != supported)
    refuse(*version, "version " + print(*number) +
                         " is not supported; this mpc reads version " +
                         print(supported));
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

/// Limits the size and the nesting of keys: the parser recurses into each part
/// of a key without a limit.
void TomlFile::checkSize(const std::string &text) const {
  if (text.size() > kMaxTomlBytes)
    throw Failure(Usage,
                  format("%s '%s' has %s, more than the %s that a %s may have",
                         what.c_str(), path.c_str(),
                         formatBytes(text.size()).c_str(),
                         formatBytes(kMaxTomlBytes).c_str(), what.c_str()));
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

std::string mpc::tool::quoteToml(const std::string &text) {
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
