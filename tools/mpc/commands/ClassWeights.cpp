//===- ClassWeights.cpp - Class weights from a data set -------------------===//

#include "tools/mpc/commands/ClassWeights.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/data/sources/OpenData.h"

#include "passes/Driver/Examine.h"

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
static std::vector<int64_t> countLabels(const DataOptions &options,
                                        const Labels &labels,
                                        int64_t ignoredLabel) {
  std::vector<std::string> notes; // They come when the data is checked.
  std::unique_ptr<DataSource> data =
      selectArrays(openData(options), options, {}, notes);
  if (!data->has(labels.input))
    throw Failure(Usage, options.path + " has no array '" + labels.input +
                             "' to compute --class-weights=balanced from");
  const StoredArray array = readWhole(*data, labels.input);
  std::string fault = mayConvert(array.dtype, MPC_DTYPE_I64)
                          ? checkConversion(array, MPC_DTYPE_I64).fault
                          : "is " + array.dtype + ", but labels are integers";
  if (!fault.empty())
    throw Failure(Usage, options.path + ": '" + labels.input + "' " + fault);
  const Convert convert = findConversion(array.dtype, MPC_DTYPE_I64);
  std::vector<int64_t> counts(labels.classes);
  for (uint64_t i = 0; i < array.count(); ++i) {
    int64_t label;
    convert(array.data() + i * array.elementSize(), 1,
            reinterpret_cast<char *>(&label));
    if (label != ignoredLabel && label >= 0 && label < labels.classes)
      ++counts[label];
  }
  return counts;
}

void mpc::tool::balanceClasses(const DataOptions &data,
                               mpc::CompileOptions &compile) {
  if (compile.classWeights != "balanced")
    return;
  if (data.path.empty())
    throw Failure(Usage, "--class-weights=balanced requires --data, whose "
                         " labels are counted");
  std::optional<Labels> labels = findLabels(compile);
  if (!labels)
    return; // The compilation reports the loss that takes no class weights.
  constexpr int64_t kIgnoredLabel = -100;
  const std::vector<int64_t> counts =
      countLabels(data, *labels, compile.ignoreIndex.value_or(kIgnoredLabel));
  int64_t total = 0, occurring = 0;
  for (int64_t count : counts) {
    total += count;
    occurring += count > 0;
  }
  if (total == 0)
    throw Failure(Usage, data.path + ": no value of '" + labels->input +
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
       " labels of " + data.path +
       (absent.empty() ? "" : "; weight 1 for classes without labels: ") +
       absent);
}
