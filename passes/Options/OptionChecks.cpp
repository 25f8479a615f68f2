//===- OptionChecks.cpp - Allowed values of options -----------------------===//

#include "passes/Options/OptionChecks.h"
#include "compiler/Support/Precision/Precisions.h"
#include "passes/Options/OptionText.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>

using namespace mpc;

//===----------------------------------------------------------------------===//
// Near words
//===----------------------------------------------------------------------===//

/// Optimal string alignment: insertions, deletions, substitutions and swaps of
/// neighbours.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1),
      row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min(
          {last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

static size_t commonPrefix(const std::string &a, const std::string &b) {
  size_t limit = std::min(a.size(), b.size()), length = 0;
  while (length < limit && a[length] == b[length])
    ++length;
  return length;
}

/// The candidate that other tools call `word`, which no edit distance finds.
static std::string findSynonym(const std::string &word,
                               const std::vector<std::string> &candidates) {
  static constexpr std::pair<const char *, const char *> kSynonyms[] = {
      {"mae", "l1"},
      {"l2", "mse"},
      {"bce", "bce-with-logits"},
      {"ce", "softmax-cross-entropy"},
      {"crossentropy", "softmax-cross-entropy"},
      {"gpu", "cuda"},
      {"float32", "fp32"},
      {"float16", "fp16"},
      {"half", "fp16"},
      {"bfloat16", "bf16"}};
  for (const auto &[other, ours] : kSynonyms)
    if (word == other && std::find(candidates.begin(), candidates.end(),
                                   ours) != candidates.end())
      return ours;
  return "";
}

static std::string toLower(std::string text) {
  for (char &c : text)
    c = std::tolower(static_cast<unsigned char>(c));
  return text;
}

std::string mpc::findNearest(const std::string &word,
                             const std::vector<std::string> &candidates) {
  // A candidate that differs only in case wins, however near others are.
  for (const std::string &candidate : candidates)
    if (toLower(candidate) == toLower(word))
      return candidate;
  if (std::string same = findSynonym(word, candidates); !same.empty())
    return same;
  std::string nearest;
  size_t shortest = word.size() / 3 + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(word, candidate);
    // Do not suggest a word that has nothing in common with the given one.
    if (distance >= std::max(word.size(), candidate.size()))
      continue;
    // Users often omit the end of a word: among equally near candidates, prefer
    // the one that starts with the word.
    bool isNearer = distance < shortest ||
                    (distance == shortest &&
                     (nearest.empty() || commonPrefix(word, candidate) >
                                             commonPrefix(word, nearest)));
    if (!isNearer)
      continue;
    nearest = candidate;
    shortest = distance;
  }
  return nearest;
}

std::string mpc::suggest(const std::string &word,
                         const std::vector<std::string> &candidates) {
  std::string nearest = findNearest(word, candidates);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

OptionCheck check::anyText() {
  return {[](const std::string &) { return std::string(); }};
}

OptionCheck check::choice(std::vector<std::string> words, size_t numShown) {
  std::vector<std::string> shown(
      words.begin(), words.begin() + std::min(numShown, words.size()));
  return {[words = std::move(words),
           shown](const std::string &value) -> std::string {
            if (std::find(words.begin(), words.end(), value) != words.end())
              return "";
            return "must be " + joinWords(shown) + ", but is '" + value + "'" +
                   suggest(value, shown);
          },
          shown};
}

std::string mpc::joinWords(const std::vector<std::string> &words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i)
    list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return list;
}

std::vector<std::string>
mpc::listPrecisions(const std::function<bool(const Precision &)> &isSelected) {
  std::vector<std::string> names;
  for (size_t i = 0; i + 1 < std::size(kPrecisions); ++i)
    if (isSelected(kPrecisions[i]))
      names.emplace_back(kPrecisions[i].name);
  return names;
}

std::vector<std::string> mpc::listPrecisions() {
  return listPrecisions([](const Precision &) { return true; });
}

std::vector<std::string> mpc::listFp8Precisions() {
  return listPrecisions(
      [](const Precision &row) { return row.layers == Precision::AllLayers; });
}

std::vector<std::string> mpc::listRuleFormats() {
  std::vector<std::string> names;
  bool hasLow = false;
  for (const FormatFacts &row : kFormats) {
    // The narrow format of tensors depends on the program.
    bool isLow = row.use == FormatFacts::Tensor;
    if (row.option.empty() || (isLow && hasLow))
      continue;
    names.emplace_back(isLow ? "low" : row.option);
    hasLow |= isLow;
  }
  return names;
}

OptionCheck check::precision() {
  std::vector<std::string> names;
  for (const Precision &row : kPrecisions)
    names.emplace_back(row.name);
  return choice(names, names.size() - 1);
}

OptionCheck check::whole(uint64_t low, uint64_t high) {
  return {[low, high](const std::string &text) -> std::string {
    // strtoull takes signs and spaces as well.
    bool isWhole = !text.empty() &&
                   text.find_first_not_of("0123456789") == std::string::npos;
    errno = 0;
    uint64_t value =
        isWhole ? std::strtoull(text.c_str(), nullptr, 10) : uint64_t(0);
    if (isWhole && errno == 0 && value >= low && value <= high)
      return "";
    if (isWhole && (errno != 0 || value > high))
      return "must be at most " + std::to_string(high) + ", but is '" + text +
             "'";
    std::string range = high == INT64_MAX ? "of at least " + std::to_string(low)
                                          : "from " + std::to_string(low) +
                                                " to " + std::to_string(high);
    return "must be a whole number " + range + ", but is '" + text + "'";
  }};
}

OptionCheck check::wholeNumbers(uint64_t low) {
  return {[low](const std::string &text) -> std::string {
    Texts elements = splitElements(text);
    if (elements.empty() || text.back() == ',')
      elements.push_back("");
    for (auto it = elements.begin(); it != elements.end(); ++it) {
      if (std::string fault = whole(low)(*it); !fault.empty())
        return fault;
      if (std::find(elements.begin(), it, *it) != it)
        return "has '" + *it + "' twice";
    }
    return "";
  }};
}

OptionCheck check::integer() {
  return {[](const std::string &text) -> std::string {
    int64_t value;
    return readValue(text, value)
               ? ""
               : "must be a whole number, but is '" + text + "'";
  }};
}

/// Parses all of `text` as a number that is still finite as an f32, which
/// programs compute with, and that becomes 0 only if it is 0.
static bool parseFinite(const std::string &text, double &value) {
  return readValue(text, value) && std::isfinite(float(value)) &&
         (value == 0 || float(value) != 0);
}

/// The fault of a text that is not a number or is one that f32 cannot hold; ""
/// for other texts.
static std::string describeBadNumber(const std::string &text) {
  double value;
  if (!readValue(text, value) || !std::isfinite(value))
    return "must be a number, but is '" + text + "'";
  if (!parseFinite(text, value))
    return "must fit in float32, but is '" + text + "'";
  return "";
}

OptionCheck check::atLeast(double low) {
  return {[low](const std::string &text) -> std::string {
    double value;
    if (parseFinite(text, value) && value >= low)
      return "";
    if (std::string fault = describeBadNumber(text); !fault.empty())
      return fault;
    return "must be at least " + shortest(low) + ", but is '" + text + "'";
  }};
}

OptionCheck check::above(double low) {
  return {[low](const std::string &text) -> std::string {
    double value;
    if (parseFinite(text, value) && value > low)
      return "";
    if (std::string fault = describeBadNumber(text); !fault.empty())
      return fault;
    return "must be above " + shortest(low) + ", but is '" + text + "'";
  }};
}

OptionCheck check::halfOpenUnit() {
  return {[](const std::string &text) -> std::string {
    double value;
    if (parseFinite(text, value) && value >= 0 && value < 1)
      return "";
    return "must be in [0, 1), but is '" + text + "'";
  }};
}

OptionCheck check::closedUnit() {
  return {[](const std::string &text) -> std::string {
    double value;
    if (parseFinite(text, value) && value >= 0 && value <= 1)
      return "";
    return "must be in [0, 1], but is '" + text + "'";
  }};
}

OptionCheck check::openUnit() {
  return {[](const std::string &text) -> std::string {
    double value;
    if (parseFinite(text, value) && value > 0 && float(value) < 1)
      return "";
    return "must be a number between 0 and 1, but is '" + text + "'";
  }};
}

OptionCheck check::notEmpty() {
  return {[](const std::string &text) -> std::string {
    return text.empty() ? "must not be empty" : "";
  }};
}

OptionCheck check::stepsOrShare() {
  return {[](const std::string &text) -> std::string {
    double value;
    bool isCount = whole(0, UINT32_MAX)(text).empty();
    if (isCount || (parseFinite(text, value) && value >= 0 && value < 1))
      return "";
    return "must be a step count, or a fraction of all steps below 1, but is "
           "'" +
           text + "'";
  }};
}

OptionCheck check::classAxis() {
  return {[](const std::string &text) -> std::string {
    int64_t axis;
    return readValue(text, axis) && axis != 0
               ? ""
               : "must be an axis after the first (1 or more, or negative), "
                 "but is '" +
                     text + "'";
  }};
}

OptionCheck check::scaleKind() {
  return {[](const std::string &text) -> std::string {
    if (text == "dynamic" || text == "off" || above(0)(text).empty())
      return "";
    return "must be dynamic, off or a float32 number above 0, but is '" + text +
           "'" + suggest(text, {"dynamic", "off"});
  }};
}

OptionCheck check::pairs(char separator, int64_t lowest) {
  return {[separator, lowest](const std::string &text) -> std::string {
    auto pair = parsePair(text, separator);
    if (pair && pair->second >= lowest)
      return "";
    return std::string("must be ") +
           (lowest == 1 ? "NAME=N with a positive N"
                        : "NAME:ROW with a whole number") +
           ", but is '" + text + "'";
  }};
}
