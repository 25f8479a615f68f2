//===- Nearest.cpp - Suggestions for mistyped names -----------------------===//

#include "compiler/Support/UserInput/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace mpc;
using llvm::StringRef;

/// The number of edits that turn `word` into some part of `text`: a pattern
/// matches anywhere.
static unsigned distanceToPart(StringRef word, StringRef text) {
  // Row i: the fewest edits from the first i letters to a part that ends at j.
  llvm::SmallVector<unsigned> row(text.size() + 1, 0);
  for (size_t i = 1; i <= word.size(); ++i) {
    unsigned diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= text.size(); ++j) {
      unsigned above = row[j];
      unsigned replaced = diagonal + (word[i - 1] != text[j - 1]);
      row[j] = std::min({replaced, above + 1, row[j - 1] + 1});
      diagonal = above;
    }
  }
  return *llvm::min_element(row);
}

/// The pattern without the operators of regular expressions.
static std::string lettersOf(StringRef pattern) {
  std::string letters;
  for (char c : pattern)
    if (!StringRef("^$\\*+?()[]{}|").contains(c))
      letters += c;
  return letters;
}

std::string mpc::describeNearest(StringRef pattern,
                                 llvm::ArrayRef<StringRef> names) {
  constexpr size_t kShown = 3;
  std::string word = lettersOf(pattern);
  const size_t limit = (word.size() + 2) / 3;
  std::set<std::tuple<unsigned, unsigned, StringRef>> ranked;
  for (StringRef name : names) {
    if (name.empty())
      continue;
    unsigned distance = distanceToPart(word, name);
    // Omit names that have little or nothing in common with the word.
    if (distance <= limit && distance < word.size())
      ranked.insert({distance, name.edit_distance(word), name});
  }
  if (ranked.empty())
    return "";
  size_t count = std::min(kShown, ranked.size());
  std::string text = count == 1 ? "; similar name: " : "; similar names: ";
  for (auto [i, entry] : llvm::enumerate(ranked)) {
    if (i == count)
      break;
    text += i == 0 ? "'" : i + 1 == count ? " and '" : ", '";
    text += std::get<StringRef>(entry).str() + "'";
  }
  return text;
}
