//===- OptionText.cpp - Values of options as text -------------------------===//

#include "passes/Options/OptionText.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

using namespace mpc;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

bool mpc::readValue(const std::string &text, std::string &value) {
  value = text;
  return true;
}

bool mpc::readValue(const std::string &text, bool &value) {
  value = text.empty() || text == "yes" || text == "true" || text == "1";
  return value || text == "no" || text == "false" || text == "0";
}

bool mpc::readValue(const std::string &text, int64_t &value) {
  char *end = nullptr;
  errno = 0;
  value = std::strtoll(text.c_str(), &end, 10);
  return errno == 0 && end != text.c_str() && *end == 0;
}

bool mpc::readValue(const std::string &text, double &value) {
  char *end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == 0;
}

bool mpc::readValue(const std::string &text, OptionalNumber &value) {
  if (text.empty()) {
    value.reset();
    return true;
  }
  return readValue(text, value.emplace());
}

bool mpc::readValue(const std::string &text, Numbers &value) {
  value.clear();
  for (const std::string &element : splitElements(text))
    if (!readValue(element, value.emplace_back()))
      return false;
  return true;
}

bool mpc::readValue(const std::string &text, Texts &value) {
  value.push_back(text);
  return true;
}

bool mpc::readValue(const std::string &text, NumberByName &value) {
  // Names may contain both separators, numbers neither.
  size_t at = text.find_last_of("=:");
  auto pair =
      at == std::string::npos ? std::nullopt : parsePair(text, text[at]);
  return pair && value.insert(*pair).second;
}

std::optional<std::pair<std::string, int64_t>>
mpc::parsePair(const std::string &text, char separator) {
  size_t at = text.rfind(separator);
  int64_t number;
  if (at == std::string::npos || at == 0 ||
      !readValue(text.substr(at + 1), number))
    return std::nullopt;
  return std::pair(text.substr(0, at), number);
}

Texts mpc::splitElements(const std::string &text) {
  Texts elements;
  int depth = 0;
  std::string element;
  auto finish = [&] {
    if (element.size() > 1 && element.front() == '{' && element.back() == '}')
      element = element.substr(1, element.size() - 2);
    elements.push_back(element);
    element.clear();
  };
  for (char c : text) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ',' && depth == 0)
      finish();
    else
      element += c;
  }
  if (!text.empty())
    finish();
  return elements;
}

std::string mpc::setOption(CompileOptions &options, const std::string &name,
                           const std::string &text) {
  const OptionRow *row = findOption(name);
  if (!row)
    return "unknown option '" + name + "'";
  std::string fault;
  visitOptions(options, [&](OptionId id, auto &field) {
    if (id == row->id)
      fault = setOption(*row, text, field);
  });
  return fault;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string mpc::shortest(double value) {
  char text[32];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  return text;
}

std::string mpc::joinElements(const Texts &values) {
  if (values.empty())
    return "";
  std::string joined;
  for (const std::string &value : values) {
    bool isWord = value.find_first_of(",{} ") == std::string::npos;
    joined +=
        (joined.empty() ? "" : ",") + (isWord ? value : "{" + value + "}");
  }
  // MLIR removes the outer braces of a pass option.
  return values.size() == 1 && joined.front() != '{' ? joined
                                                     : "{" + joined + "}";
}

Texts mpc::writeValue(const OptionRow &, const std::string &value) {
  return {value};
}

Texts mpc::writeValue(const OptionRow &, bool value) {
  return {value ? "yes" : "no"};
}

Texts mpc::writeValue(const OptionRow &, int64_t value) {
  return {std::to_string(value)};
}

Texts mpc::writeValue(const OptionRow &, double value) {
  return {shortest(value)};
}

Texts mpc::writeValue(const OptionRow &, const OptionalNumber &value) {
  return value ? Texts{std::to_string(*value)} : Texts{};
}

Texts mpc::writeValue(const OptionRow &, const Numbers &value) {
  std::string text;
  for (int64_t number : value)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return value.empty() ? Texts{} : Texts{text};
}

Texts mpc::writeValue(const OptionRow &, const Texts &value) { return value; }

Texts mpc::writeValue(const OptionRow &row, const NumberByName &value) {
  // NAME=N or NAME:ROW
  const char separator = std::string(row.metavar)[4];
  Texts texts;
  for (const auto &[name, number] : value)
    texts.push_back(name + separator + std::to_string(number));
  return texts;
}
