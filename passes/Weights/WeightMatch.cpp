//===- WeightMatch.cpp - The weights of a model and of a file -------------===//

#include "passes/Weights/WeightMatch.h"

#include "passes/Options/OptionChecks.h"
#include "passes/Weights/WeightValues.h"

#include <algorithm>

using namespace mpc;

const StoredWeight *WeightMatch::take(const std::string &name) {
  auto found = rest.find(name);
  if (found == rest.end())
    return nullptr;
  used.push_back(found->second);
  rest.erase(found);
  return used.back();
}

const StoredWeight *WeightMatch::takeNeeded(const std::string &name) {
  const StoredWeight *tensor = take(name);
  if (!tensor)
    missing.push_back(name);
  return tensor;
}

/// The tensor among `used` that has the same values: they are tied, and the
/// exporter has kept one of them. Null if there is none; vectors may be equal
/// by chance.
static const StoredWeight *
findTied(const WeightsFile &file, const StoredWeight &tensor,
         const std::vector<const StoredWeight *> &used) {
  if (tensor.shape.size() < 2)
    return nullptr;
  const std::vector<char> data = file.read(tensor);
  for (const StoredWeight *other : used)
    if (other->dtype == tensor.dtype && other->shape == tensor.shape &&
        file.read(*other) == data)
      return other;
  return nullptr;
}

/// "; to remove 'module.' from the names of the file, add ..." if the names fit
/// without the words before their first dot, or with them.
static std::string
suggestMap(const std::vector<std::string> &missing,
           const std::map<std::string, const StoredWeight *> &tensors) {
  const auto hasRest = [](const std::string &name, const std::string &rest) {
    size_t dot = name.find('.');
    return dot != name.npos && name.compare(dot + 1, name.npos, rest) == 0;
  };
  for (const auto &[name, tensor] : tensors)
    for (const std::string &wanted : missing) {
      const std::string prefix = name.substr(0, name.find('.'));
      if (hasRest(name, wanted))
        return "; to remove '" + prefix +
               ".' from the names of the file, add option 'map-names'='^" +
               prefix + "[.]='";
    }
  for (const auto &[name, tensor] : tensors)
    for (const std::string &wanted : missing) {
      const std::string prefix = wanted.substr(0, wanted.find('.')) + ".";
      if (hasRest(wanted, name))
        return "; to put '" + prefix +
               "' in front of the names of the file, add option "
               "'map-names'='^=" +
               prefix + "'";
    }
  return "";
}

/// "'a', 'b' and 3 others".
static std::string listSome(const std::vector<std::string> &names) {
  constexpr size_t kMaxNamed = 8;
  std::vector<std::string> quoted;
  for (size_t i = 0; i < std::min(kMaxNamed, names.size()); ++i)
    quoted.push_back("'" + names[i] + "'");
  if (const size_t named = quoted.size(); names.size() > named)
    quoted.push_back(std::to_string(names.size() - named) + " other" +
                     (names.size() > named + 1 ? "s" : ""));
  return joinWords(quoted);
}

std::string WeightMatch::finish(bool isStrict) const {
  const WeightsFile &file = weights.file();
  // Counters of batches are no weights, nor is everything that a model has.
  std::vector<std::string> unexpected;
  std::string tied;
  for (const auto &[name, tensor] : rest) {
    if (!isFloatDtype(tensor->dtype) || file.isModel)
      continue;
    if (const StoredWeight *other = findTied(file, *tensor, used))
      tied += "; '" + tensor->name + "' is tied to '" + other->name + "'";
    else
      unexpected.push_back(name);
  }
  std::string differences;
  if (!missing.empty())
    differences = "it lacks " + listSome(missing);
  if (!unexpected.empty())
    differences += (differences.empty() ? "" : "; ") +
                   std::string("the model has no ") + listSome(unexpected);
  if (used.empty() || (isStrict && !differences.empty()))
    throw WeightsError(
        WeightsError::Usage,
        file.path + " does not have the weights of the model: " +
            (differences.empty() ? "it has none" : differences) +
            suggestMap(missing, rest) +
            (used.empty() ? ""
                          : "; use option 'init-strict'=off to begin with what "
                            "both have"));
  return "began with " + std::to_string(used.size()) + " tensor" +
         (used.size() == 1 ? "" : "s") + " of '" + file.path + "'" +
         (differences.empty() ? "" : "; " + differences) + tied;
}
