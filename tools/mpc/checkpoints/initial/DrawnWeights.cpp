//===- DrawnWeights.cpp - The option --reinit of mpc train ----------------===//

#include "tools/mpc/checkpoints/initial/DrawnWeights.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/MasterWeights.h"
#include "tools/mpc/options/Checks.h"

#include <regex>

using namespace mpc::tool;

void DrawnWeights::addTo(CLI::App &command) {
  command
      .add_option("--reinit", texts,
                  "Draw the parameters whose names match at random, from "
                  "--seed: kaiming (default), kaiming:fan-out, xavier, "
                  "normal:STD, trunc-normal:STD, zeros or ones; may be "
                  "repeated")
      ->option_text("REGEX[=INIT]")
      ->take_all()
      ->check(NotEmpty())
      ->group("Starting weights");
}

namespace {
/// One value of the option.
struct DrawRule {
  std::regex names;
  std::string text; ///< The regular expression.
  Initializer initializer;
};
} // namespace

static DrawRule parseRule(const std::string &text) {
  DrawRule rule;
  const size_t equals = text.rfind('=');
  rule.text = text.substr(0, equals);
  if (equals != text.npos)
    rule.initializer = parseInitializer(text.substr(equals + 1));
  try {
    rule.names = std::regex(rule.text);
  } catch (const std::regex_error &error) {
    throw Failure(Usage, "--reinit: '" + rule.text +
                             "' is not a regular expression: " + error.what());
  }
  return rule;
}

/// "; did you mean 'fc1'?" or the names of all parameters.
static std::string suggestPattern(const std::string &pattern,
                                  const std::vector<std::string> &names) {
  std::vector<std::string> candidates = names;
  for (const std::string &name : names)
    for (size_t dot = name.find('.'); dot != name.npos;
         dot = name.find('.', dot + 1))
      candidates.push_back(name.substr(0, dot));
  const std::string text =
      std::regex_replace(pattern, std::regex(R"([\\^$*+?()\[\]{}|]|\.$)"), "");
  const std::string suggestion = suggest(text, candidates);
  return suggestion.empty() ? "; they are " + listNames(names) : suggestion;
}

std::map<std::string, Distribution>
DrawnWeights::select(const Program &program) const {
  std::map<std::string, Distribution> drawn;
  std::vector<std::string> names;
  for (const mpc_state_info_t &info : program.states())
    if (info.is_parameter)
      names.push_back(info.name);
  std::map<std::string, Initializer> chosen;
  for (const std::string &text : texts) {
    const DrawRule rule = parseRule(text);
    bool isUsed = false;
    for (const std::string &name : names)
      if (std::regex_search(name, rule.names)) {
        chosen[name] = rule.initializer;
        isUsed = true;
      }
    if (!isUsed)
      throw Failure(Usage, "--reinit: '" + rule.text +
                               "' matches no parameter" +
                               suggestPattern(rule.text, names));
  }
  for (const mpc_state_info_t &info : program.states())
    if (auto found = chosen.find(info.name);
        info.is_parameter && found != chosen.end())
      drawn.try_emplace(
          info.name, found->second, info.name,
          std::vector<int64_t>(info.shape, info.shape + info.rank));
  return drawn;
}

/// A number for the name of a parameter (64-bit FNV-1a).
static uint64_t streamOf(const std::string &name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char letter : name)
    hash = (hash ^ letter) * 0x100000001b3;
  return hash;
}

void mpc::tool::drawWeights(Session &session, const Program &program,
                            const std::map<std::string, Distribution> &drawn,
                            uint64_t seed) {
  std::map<std::string, std::vector<std::string>> described;
  for (const mpc_state_info_t &info : program.states()) {
    auto found = drawn.find(info.name);
    if (!info.is_parameter || found == drawn.end())
      continue;
    const Distribution &distribution = found->second;
    const uint64_t stream = streamOf(info.name);
    writeFloats(session, program, info,
                [&](uint64_t i) { return distribution.draw(seed, stream, i); });
    described[distribution.describe()].push_back(info.name);
  }
  for (const auto &[distribution, names] : described)
    note("initialized " + listNames(names) + ": " + distribution);
}
