//===- Text.cpp - Numbers and names as people read them -------------------===//

#include "tools/mpc/Text.h"

#include "runtime/src/base/byte_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

using namespace mpc::tool;

std::string mpc::tool::formatList(const char *pattern, va_list args) {
  va_list again;
  va_copy(again, args);
  std::string text(std::max(0, std::vsnprintf(nullptr, 0, pattern, args)), ' ');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string mpc::tool::format(const char *pattern, ...) {
  va_list args;
  va_start(args, pattern);
  std::string text = formatList(pattern, args);
  va_end(args);
  return text;
}

std::string mpc::tool::formatCount(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, " ");
  return digits;
}

std::string mpc::tool::formatCount(uint64_t count, const char *noun) {
  return formatCount(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string mpc::tool::formatBytes(uint64_t bytes) {
  return mpc::ByteText(bytes).c_str();
}

/// A time that is longer than any training, or none at all.
static bool isNoTime(double seconds) {
  return !(seconds >= 0) || seconds > 1e9;
}

std::string mpc::tool::formatDuration(double seconds) {
  if (isNoTime(seconds))
    return "?";
  if (seconds < 0.9995e-3)
    return format("%.0f us", seconds * 1e6);
  if (seconds < 9.95e-3)
    return format("%.1f ms", seconds * 1e3);
  if (seconds < 0.995)
    return format("%.2g s", seconds);
  if (seconds < 59.5)
    return format("%.1f s", seconds);
  return formatClock(seconds);
}

std::string mpc::tool::formatClock(double seconds) {
  if (isNoTime(seconds))
    return "?";
  uint64_t whole = std::llround(seconds);
  unsigned second = whole % 60, minute = whole / 60 % 60;
  uint64_t hour = whole / 3600;
  if (hour == 0)
    return format("%u:%02u", minute, second);
  return format("%llu:%02u:%02u", static_cast<unsigned long long>(hour), minute,
                second);
}

std::string mpc::tool::joinWords(const std::vector<std::string> &words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0)
      text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

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

/// What others call the same, which no edit finds.
static std::string findSynonym(const std::string &word,
                               const std::vector<std::string> &candidates) {
  static constexpr std::pair<const char *, const char *> kSynonyms[] = {
      {"mae", "l1"},
      {"l2", "mse"},
      {"bce", "bce-with-logits"},
      {"ce", "softmax-cross-entropy"},
      {"cross-entropy", "softmax-cross-entropy"},
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

std::string mpc::tool::findNearest(const std::string &word,
                                   const std::vector<std::string> &candidates) {
  // What differs in case alone is that word, however near others are.
  for (const std::string &candidate : candidates)
    if (toLower(candidate) == toLower(word))
      return candidate;
  if (std::string same = findSynonym(word, candidates); !same.empty())
    return same;
  std::string nearest;
  size_t shortest = word.size() / 3 + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(word, candidate);
    // A word with nothing in common is no suggestion.
    if (distance >= std::max(word.size(), candidate.size()))
      continue;
    // People leave out the end: of equally near ones that which begins as the
    // word does.
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

std::string mpc::tool::suggest(const std::string &word,
                               const std::vector<std::string> &candidates) {
  std::string nearest = findNearest(word, candidates);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}
