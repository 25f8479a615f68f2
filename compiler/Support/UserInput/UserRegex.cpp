//===- UserRegex.cpp - Regular expressions from users ---------------------===//

#include "compiler/Support/UserInput/UserRegex.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace llvm;

namespace {

/// Estimates the size of a compiled pattern without compiling it.
class PatternCost {
public:
  explicit PatternCost(StringRef pattern) : rest(pattern) {}

  /// Returns why the pattern is too expensive, "" if it is not. Does not check
  /// whether it is well formed.
  std::string findFault() {
    groups.push_back({});
    while (!rest.empty()) {
      if (std::string fault = takeNext(); !fault.empty())
        return fault;
      if (groups.back().size() > mpc::kMaxRegexSize)
        return "with repeats expanded it has more than " +
               std::to_string(mpc::kMaxRegexSize) + " parts";
    }
    return "";
  }

private:
  /// The part of a parenthesised group that has been read.
  struct Group {
    size_t before = 0; ///< All but the last part.
    size_t last = 0;   ///< The part that a repeat would apply to.
    size_t size() const { return before + last; }
    void add(size_t part) {
      before += last;
      last = part;
    }
  };

  std::string takeNext() {
    char c = rest.front();
    rest = rest.drop_front();
    switch (c) {
    case '\\':
      return takeEscape();
    case '[':
      skipBracket();
      break;
    case '(':
      groups.push_back({});
      return groups.size() <= mpc::kMaxRegexDepth
                 ? ""
                 : "its parentheses are nested more than " +
                       std::to_string(mpc::kMaxRegexDepth) + " deep";
    case ')':
      if (groups.size() > 1) {
        size_t size = groups.pop_back_val().size();
        groups.back().add(size + 2);
      }
      return "";
    case '{':
      if (!rest.empty() && isDigit(rest.front())) {
        repeat();
        return "";
      }
      break;
    case '*':
    case '+':
    case '?':
      groups.back().last += 2;
      return "";
    }
    groups.back().add(1);
    return "";
  }

  std::string takeEscape() {
    if (!rest.empty() && isDigit(rest.front()) && rest.front() != '0')
      return "references to groups (\\" + rest.take_front().str() +
             ") are not supported";
    rest = rest.drop_front(rest.empty() ? 0 : 1);
    groups.back().add(1);
    return "";
  }

  void skipBracket() {
    rest.consume_front("^");
    rest.consume_front("]");
    while (!rest.empty() && rest.front() != ']') {
      char kind = rest.size() > 1 && rest.front() == '[' ? rest[1] : 0;
      size_t end = StringRef::npos;
      if (kind == ':' || kind == '.' || kind == '=')
        end = rest.find(std::string{kind, ']'}, 2);
      rest = rest.drop_front(end == StringRef::npos ? 1 : end + 2);
    }
    rest.consume_front("]");
  }

  /// "{2}", "{2,}", "{2,5}": as many copies as the larger number.
  void repeat() {
    StringRef counts = rest.take_until([](char c) { return c == '}'; });
    rest = rest.drop_front(std::min(rest.size(), counts.size() + 1));
    size_t most = 1;
    for (StringRef text : {counts.split(',').first, counts.split(',').second})
      if (size_t count; !text.trim().getAsInteger(10, count))
        most = std::max(most, std::min(count, mpc::kMaxRegexSize));
    size_t each = std::max<size_t>(groups.back().last, 1) + 4;
    groups.back().last = std::min(most * each, mpc::kMaxRegexSize + 1);
  }

  StringRef rest;
  SmallVector<Group> groups; ///< The innermost last.
};

} // namespace

std::optional<Regex> mpc::compileUserRegex(StringRef pattern,
                                           std::string &reason) {
  if (pattern.size() > kMaxRegexLength) {
    reason = "it has " + std::to_string(pattern.size()) +
             " characters, more than " + std::to_string(kMaxRegexLength);
    return std::nullopt;
  }
  reason = PatternCost(pattern).findFault();
  if (!reason.empty())
    return std::nullopt;
  Regex regex(pattern);
  if (!regex.isValid(reason))
    return std::nullopt;
  return regex;
}

bool mpc::matchesUserRegex(StringRef pattern, StringRef text) {
  std::string reason;
  std::optional<Regex> regex = compileUserRegex(pattern, reason);
  return regex && regex->match(text);
}
