//===- LossText.cpp - Losses and their options as text --------------------===//

#include "passes/Options/Loss/LossText.h"
#include "passes/Options/OptionText.h"

#include <algorithm>
#include <cmath>
#include <sstream>

using namespace mpc;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static std::vector<std::string> splitWords(const char *text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

const std::vector<LossRow> &mpc::lossRows() {
  constexpr LossTarget Labels = LossTarget::Labels,
                       Targets = LossTarget::Targets,
                       Nothing = LossTarget::Nothing;
  static const std::vector<LossRow> rows = {
#define MPC_LOSS(KIND, NAME, TARGET, OUTPUTS, OPTIONS)                         \
  {NAME, TARGET, OUTPUTS, splitWords(OPTIONS)},
#include "passes/Options/Loss/Losses.def"
  };
  return rows;
}

std::vector<std::string> mpc::lossNames() {
  std::vector<std::string> names;
  for (const LossRow &row : lossRows())
    names.emplace_back(row.name);
  return names;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static std::string trimmed(const std::string &text) {
  size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// The name of a loss in the table. PyTorch and others call softmax cross
/// entropy just that.
static std::string fullName(const std::string &kind) {
  return kind == "cross-entropy" ? "softmax-cross-entropy" : kind;
}

static bool isLoss(const std::string &word) {
  std::vector<std::string> names = lossNames();
  return word == "output" ||
         std::find(names.begin(), names.end(), fullName(word)) != names.end();
}

/// Whether the '+' at `at` separates two terms: it has spaces around it, or a
/// loss behind it.
static bool isSeparator(const std::string &text, size_t at) {
  bool hasSpaces = at > 0 && text[at - 1] == ' ' && at + 1 < text.size() &&
                   text[at + 1] == ' ';
  size_t begin = std::min(text.find_first_not_of(' ', at + 1), text.size());
  size_t end = std::min(text.find_first_of(":*+ ", begin), text.size());
  return hasSpaces || isLoss(text.substr(begin, end - begin));
}

static LossTermText parseTerm(std::string text) {
  LossTermText term;
  text = trimmed(text);
  size_t star = text.rfind('*');
  double share;
  if (star != std::string::npos && text.rfind("output:", 0) != 0 &&
      readValue(trimmed(text.substr(star + 1)), share)) {
    term.share = share;
    term.hasShare = true;
    text = trimmed(text.substr(0, star));
  }
  size_t colon = text.find(':');
  // "mse:" is a misspelled word, not a loss without an output.
  if (colon == std::string::npos || colon + 1 == text.size()) {
    term.kind = fullName(text);
    return term;
  }
  term.kind = fullName(text.substr(0, colon));
  term.output = text.substr(colon + 1);
  return term;
}

std::vector<LossTermText> mpc::splitLoss(const std::string &text) {
  std::vector<LossTermText> terms;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at)
    if (text[at] == '+' && isSeparator(text, at)) {
      terms.push_back(parseTerm(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  terms.push_back(parseTerm(text.substr(begin)));
  return terms;
}

std::optional<std::vector<double>> mpc::parseNumbers(const std::string &text) {
  std::vector<double> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    if (!readValue(trimmed(text.substr(begin, end - begin)),
                   numbers.emplace_back()))
      return std::nullopt;
    begin = end + 1;
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

OptionCheck check::lossKind() {
  return {[](const std::string &text) -> std::string {
    if (text == kExternalLoss)
      return "";
    std::vector<std::string> words = lossNames();
    words.insert(words.end(), {"KIND:NAME", "output:NAME", kExternalLoss});
    std::vector<LossTermText> terms = splitLoss(text);
    for (const LossTermText &term : terms) {
      if (!isLoss(term.kind) || (term.kind == "output" && term.output.empty()))
        return choice(words)(term.kind);
      if (term.kind == "output" && terms.size() > 1)
        return "must not add output:" + term.output +
               " to other losses; compute the sum in the model, or give only "
               "losses of outputs";
      if (!term.hasShare)
        continue;
      if (std::string fault = above(0)(shortest(term.share)); !fault.empty())
        return "must multiply each loss by a number above 0, but is '" + text +
               "'";
    }
    return "";
  }};
}

OptionCheck check::weights(std::string word) {
  return {[word](const std::string &text) -> std::string {
    if (!word.empty() && text == word)
      return "";
    std::optional<std::vector<double>> numbers = parseNumbers(text);
    bool isRight =
        numbers && std::all_of(numbers->begin(), numbers->end(), [](double w) {
          return w >= 0 && std::isfinite(float(w));
        });
    if (isRight)
      return "";
    return "must be " + (word.empty() ? "" : word + " or ") +
           "numbers of at least 0, separated by commas, but is '" + text + "'";
  }};
}
