//===- OptionText.h - Values of options as text -----------------*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_OPTIONTEXT_H
#define MPC_PASSES_OPTIONS_OPTIONTEXT_H

#include "passes/Options/OptionRow.h"

#include <optional>
#include <string>
#include <utility>

namespace mpc {

/// Reads a value that its check has accepted. Values of a list option are
/// appended. Returns false if the text is not a value of this type.
bool readValue(const std::string &text, std::string &value);
bool readValue(const std::string &text, bool &value);
bool readValue(const std::string &text, int64_t &value);
bool readValue(const std::string &text, double &value);
bool readValue(const std::string &text, OptionalNumber &value);
bool readValue(const std::string &text, Numbers &value);
bool readValue(const std::string &text, Texts &value);
bool readValue(const std::string &text, NumberByName &value);

/// The value as text for readValue, one text for each time the option is given:
/// none if it is not set.
Texts writeValue(const OptionRow &row, const std::string &value);
Texts writeValue(const OptionRow &row, bool value);
Texts writeValue(const OptionRow &row, int64_t value);
Texts writeValue(const OptionRow &row, double value);
Texts writeValue(const OptionRow &row, const OptionalNumber &value);
Texts writeValue(const OptionRow &row, const Numbers &value);
Texts writeValue(const OptionRow &row, const Texts &value);
Texts writeValue(const OptionRow &row, const NumberByName &value);

/// Splits "table:3" into "table" and 3; nothing if the text is not such a pair.
std::optional<std::pair<std::string, int64_t>>
parsePair(const std::string &text, char separator);

/// Whether an option may be given several times.
template <typename T>
inline constexpr bool isList =
    std::is_same_v<T, Texts> || std::is_same_v<T, NumberByName>;

Texts splitElements(const std::string &text);
std::string joinElements(const Texts &values);

/// Checks and reads `text`; returns an error message, or "". The default is
/// always accepted.
template <typename T>
std::string setOption(const OptionRow &row, const std::string &text, T &field) {
  if (text != row.byDefault)
    if (std::string fault = row.check(text); !fault.empty())
      return fault;
  if (readValue(text, field))
    return "";
  if (std::is_same_v<T, NumberByName>)
    return "names '" + text.substr(0, text.find_last_of("=:")) + "' twice";
  return std::string("must be ") +
         (row.isSwitch() ? "yes or no" : row.metavar) + ", but is '" + text +
         "'";
}

/// The same for text with all values of an option: "a,{b,c}" for "a" and "b,c".
/// Appends them to earlier values if `append` is set.
template <typename T>
std::string setWhole(const OptionRow &row, const std::string &text, T &field,
                     bool append = false) {
  if constexpr (!isList<T>)
    return setOption(row, text, field);
  if (!append)
    field = T();
  for (const std::string &element : splitElements(text))
    if (std::string fault = setOption(row, element, field); !fault.empty())
      return fault;
  return "";
}

/// The text that setWhole takes, in braces if it is more than one word.
template <typename T>
std::string writeWhole(const OptionRow &row, const T &field) {
  Texts values = writeValue(row, field);
  if constexpr (isList<T>)
    return joinElements(values);
  return values.empty() ? "" : values.front();
}

/// Checks every value of a group that is not the default; returns an error
/// message, or "".
template <typename Group> std::string checkValues(const Group &group) {
  const Group defaults;
  std::vector<Texts> byDefault;
  visitOptions(defaults, [&](OptionId id, const auto &field) {
    byDefault.push_back(writeValue(optionRow(id), field));
  });
  size_t index = 0;
  std::string fault;
  visitOptions(group, [&](OptionId id, const auto &field) {
    const OptionRow &row = optionRow(id);
    Texts values = writeValue(row, field);
    if (values == byDefault[index++])
      return;
    for (const std::string &value : values)
      if (std::string why = row.check(value); fault.empty() && !why.empty())
        fault = optionName(id) + " " + why;
  });
  return fault;
}

/// Sets the option of this name; returns an error message, or "".
std::string setOption(CompileOptions &options, const std::string &name,
                      const std::string &text);

/// "0.001": the fewest digits that identify the number.
std::string shortest(double value);

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_OPTIONTEXT_H
