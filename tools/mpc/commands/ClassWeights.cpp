//===- ClassWeights.cpp - Class weights from a data set -------------------===//

#include "tools/mpc/commands/ClassWeights.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/ConvertArray.h"

#include "passes/Driver/Examine.h"

#include <cstring>
#include <optional>
#include <regex>

using namespace mpc::tool;

namespace {
/// The labels that a loss compares with, and the number of their classes.
struct Labels {
  std::string input;
  int64_t classes = 0;
};
} // namespace

/// The labels of the first classification loss of a model without class
/// weights; none if it has no such loss.
static std::optional<Labels> findLabels(mpc::CompileOptions compile) {
  compile.classWeights.clear();
  mpc::Examination found = mpc::examineModel(compile);
  static const std::regex pattern(
      "softmax-[a-z-]+ of output '(.*?)' against input '(.*?)'"
      "(, classes along axis ([0-9]+))?");
  std::smatch match;
  if (!std::regex_search(found.loss, match, pattern))
    return std::nullopt;
  size_t axis = match[4].matched ? std::stoul(match[4]) : 1;
  for (const mpc::Examination::Output &output : found.outputs)
    if (output.name == match[1] && axis < output.shape.size())
      return Labels{match[2], output.shape[axis]};
  return std::nullopt;
}

/// The number of labels of each class.
static std::vector<int64_t> countLabels(const std::string &path,
                                        const Labels &labels,
                                        int64_t ignoredLabel) {
  mpc::npz::Reader data(path);
  if (!data.has(labels.input))
    throw Failure(Usage, path + " has no array '" + labels.input +
                             "' to compute --class-weights=balanced from");
  mpc::npz::Array array = data.read(labels.input);
  std::string fault = mayConvert(array.dtype, MPC_DTYPE_I64)
                          ? convertArray(array, MPC_DTYPE_I64).fault
                          : "is " + array.dtype + ", but labels are integers";
  if (!fault.empty())
    throw Failure(Usage, path + ": '" + labels.input + "' " + fault);
  std::vector<int64_t> counts(labels.classes);
  for (size_t at = 0; at < array.data.size(); at += sizeof(int64_t)) {
    int64_t label;
    std::memcpy(&label, array.data.data() + at, sizeof(label));
    if (label != ignoredLabel && label >= 0 && label < labels.classes)
      ++counts[label];
  }
  return counts;
}

void mpc::tool::balanceClasses(const std::string &data,
                               mpc::CompileOptions &compile) {
  if (compile.classWeights != "balanced")
    return;
  if (data.empty())
    throw Failure(Usage, "--class-weights=balanced requires --data=FILE.npz, "
                         "whose labels are counted");
  std::optional<Labels> labels = findLabels(compile);
  if (!labels)
    return; // The compilation reports the loss that takes no class weights.
  std::vector<int64_t> counts;
  try {
    constexpr int64_t kIgnoredLabel = -100;
    counts =
        countLabels(data, *labels, compile.ignoreIndex.value_or(kIgnoredLabel));
  } catch (const mpc::npz::FileError &error) {
    throw Failure(InputOutput, error.what());
  } catch (const mpc::npz::MemoryError &error) {
    throw Failure(Limit, error.what());
  }
  int64_t total = 0, occurring = 0;
  for (int64_t count : counts) {
    total += count;
    occurring += count > 0;
  }
  if (total == 0)
    throw Failure(Usage, data + ": no value of '" + labels->input +
                             "' is a class that counts, so classes cannot be "
                             "balanced");
  compile.classWeights.clear();
  std::string absent;
  for (size_t i = 0; i < counts.size(); ++i) {
    double weight = counts[i] == 0
                        ? 1
                        : double(total) / double(occurring) / double(counts[i]);
    compile.classWeights += (i == 0 ? "" : ",") + format("%.7g", weight);
    if (counts[i] == 0)
      absent += (absent.empty() ? "" : ", ") + std::to_string(i);
  }
  note("class weights: balanced by the " + std::to_string(total) +
       " labels of " + data +
       (absent.empty() ? "" : "; weight 1 for classes without labels: ") +
       absent);
}
