//===- TextColumn.cpp - Values that are written as text -------------------===//

#include "tools/mpc/data/sources/TextColumn.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"

#include <charconv>
#include <cstdlib>

using namespace mpc::tool;

/// The text without spaces around it, and without a plus sign.
static std::string trim(const std::string &text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos)
    return "";
  size_t end = text.find_last_not_of(" \t") + 1;
  if (text[begin] == '+' && end > begin + 1 && text[begin + 1] != '-')
    ++begin;
  return text.substr(begin, end - begin);
}

template <typename Number>
static bool parse(const std::string &text, Number &value) {
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if constexpr (std::is_floating_point_v<Number>)
    if (error == std::errc::result_out_of_range) // Infinity, or nearly 0.
      value = std::strtod(text.c_str(), nullptr);
  return stop == end && !text.empty() &&
         (error == std::errc() || (std::is_floating_point_v<Number> &&
                                   error == std::errc::result_out_of_range));
}

void TextColumn::examine(const std::string &text) {
  std::string value = trim(text);
  if (value.empty())
    return; // An error only if the column is used.
  int64_t whole;
  double real;
  // Numbers may turn out to be the names of classes.
  if (found.size() <= kMaxClasses)
    found.insert(value);
  if (kind == Whole && !parse(value, whole))
    kind = Real;
  if (kind == Real && !parse(value, real))
    kind = Classes;
}

void TextColumn::finish(const std::vector<std::string> *given) {
  if (kind == Classes)
    names =
        given ? *given : std::vector<std::string>(found.begin(), found.end());
  for (const std::string &name : names)
    numbers.emplace(name, numbers.size());
  found.clear();
}

void TextColumn::append(const std::string &text, const std::string &where,
                        ElementsBuilder &elements) const {
  std::string value = trim(text);
  if (value.empty())
    throw Failure(Usage, where + " is empty; fill in or remove such rows");
  int64_t whole = 0;
  double real = 0;
  if (kind == Classes) {
    if (names.size() > kMaxClasses)
      throw Failure(Usage, where + " is '" + value +
                               "': the column contains texts, more different "
                               "ones than the maximum of " +
                               std::to_string(kMaxClasses));
    auto number = numbers.find(value);
    if (number == numbers.end())
      throw Failure(Usage, where + " is '" + value +
                               "', which is none of the " +
                               formatCount(names.size()) +
                               " known classes: " + joinWords(names, "or"));
    elements.append(&number->second, sizeof(number->second));
    return;
  }
  bool isNumber = kind == Whole ? parse(value, whole) : parse(value, real);
  if (!isNumber)
    throw Failure(InputOutput, where + " has changed while it was read");
  if (kind == Whole)
    elements.append(&whole, sizeof(whole));
  else
    elements.append(&real, sizeof(real));
}
