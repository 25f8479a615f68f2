//===- LossFromData.cpp - Choose a loss from a data set -------------------===//

#include "tools/mpc/data/LossFromData.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/data/sources/OpenData.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace mpc::tool;

static constexpr const char *kCrossEntropy = "softmax-cross-entropy";

std::string DataLoss::options() const {
  std::string text = "--loss=" + kind;
  if (labelAxis != 0)
    text += " --label-axis=" + std::to_string(labelAxis);
  return text;
}

std::string DataLoss::input() const {
  return kind == kCrossEntropy ? "labels" : "targets";
}

std::string DataLoss::remedy() const {
  if (conversion.empty())
    return "";
  return "; save data['" + array + "']" + conversion + " as '" + input() + "'";
}

/// The shape of one sample.
static std::vector<int64_t> ofSample(const std::vector<int64_t> &shape) {
  return {shape.begin() + !shape.empty(), shape.end()};
}

/// Whether every sample has exactly one 1 along the last axis. All elements of
/// `array` must be 0 or 1.
static bool isOneHot(const StoredArray &array) {
  if (array.shape.size() < 2 || array.shape.back() < 2)
    return false;
  size_t size = array.elementSize(), row = size * array.shape.back();
  static const char zeros[8] = {};
  for (size_t at = 0; at < array.elements.size(); at += row) {
    int64_t ones = 0;
    for (size_t i = 0; i < row; i += size)
      ones += std::memcmp(array.data() + at + i, zeros, size) != 0;
    if (ones != 1)
      return false;
  }
  return true;
}

/// A shape without its dimensions of size 1.
static std::vector<int64_t> squeezed(std::vector<int64_t> shape) {
  shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  return shape;
}

/// Whether samples of shape `array` fit samples of shape `wanted`. A single
/// number per sample may have a dimension of size 1 or not; with `reshapes`,
/// all dimensions of size 1 may be missing.
static bool fits(const std::vector<int64_t> &array,
                 const std::vector<int64_t> &wanted, bool reshapes) {
  bool isColumn =
      array.size() == 1 && ofSample(wanted) == std::vector<int64_t>{1};
  return ofSample(array) == ofSample(wanted) || isColumn ||
         (reshapes && squeezed(ofSample(array)) == squeezed(ofSample(wanted)));
}

/// ".reshape(-1, 4, 5)" for samples of the wanted shape; "" if they have it.
static std::string reshapeTo(const std::vector<int64_t> &wanted,
                             const std::vector<int64_t> &array) {
  if (ofSample(array) == ofSample(wanted) &&
      array.size() == std::max<size_t>(wanted.size(), 1))
    return "";
  std::string text = ".reshape(-1";
  for (int64_t extent : ofSample(wanted))
    text += ", " + std::to_string(extent);
  return text + ")";
}

/// The shape without one of its dimensions.
static std::vector<int64_t> without(std::vector<int64_t> shape, size_t axis) {
  shape.erase(shape.begin() + static_cast<int64_t>(axis));
  return shape;
}

/// The axes of an output that may be class axes for labels of this shape.
static std::vector<size_t> findAxes(const std::vector<int64_t> &labels,
                                    const std::vector<int64_t> &output,
                                    bool reshapes) {
  std::vector<size_t> axes;
  for (size_t axis = 1; axis < output.size(); ++axis)
    if (output[axis] >= 2 && fits(labels, without(output, axis), reshapes))
      axes.push_back(axis);
  return axes;
}

/// Sets the loss for an array with a number for each element of the output.
static void compareNumbers(const StoredArray &array, const OutputShape &output,
                           DataLoss &loss) {
  bool isBinary = isZeroOrOne(array);
  bool areOneHot = isBinary && isOneHot(array) &&
                   ofSample(array.shape) == ofSample(output.shape);
  loss.kind = !isBinary ? "mse" : areOneHot ? kCrossEntropy : "bce-with-logits";
  loss.why += !isBinary   ? "contains numbers"
              : areOneHot ? "is one-hot"
                          : "contains only 0 and 1";
  loss.conversion =
      areOneHot ? ".argmax(-1)" : reshapeTo(output.shape, array.shape);
}

/// The loss for an array and an output; with `reshapes`, also if one of them
/// has dimensions of size 1 that the other lacks.
static std::optional<DataLoss> match(const StoredArray &array,
                                     const OutputShape &output, bool reshapes) {
  if (output.shape.empty() || array.shape.empty())
    return std::nullopt; // There is no batch dimension.
  DataLoss loss;
  loss.output = output.name;
  loss.array = array.name;
  loss.samples = array.shape[0];
  loss.why = "'" + array.name + "' (" + mpc::npz::typeText(array) + ") ";
  if (fits(array.shape, output.shape, reshapes)) {
    compareNumbers(array, output, loss);
    return loss;
  }
  std::vector<size_t> axes = findAxes(array.shape, output.shape, reshapes);
  if (isFloat(array) || axes.empty())
    return std::nullopt;
  loss.kind = kCrossEntropy;
  // If there are several, the compiler chooses one.
  if (output.shape.size() > 2 && axes.size() == 1)
    loss.labelAxis = static_cast<int64_t>(axes[0]);
  loss.why += "contains class labels";
  loss.conversion = reshapeTo(without(output.shape, axes[0]), array.shape);
  return loss;
}

/// The only loss for an array and an output; none if there are several.
static std::optional<DataLoss>
findOnlyLoss(const std::vector<StoredArray> &arrays,
             const std::vector<OutputShape> &outputs, bool reshapes) {
  std::vector<DataLoss> found;
  for (const StoredArray &array : arrays)
    for (const OutputShape &output : outputs)
      if (std::optional<DataLoss> loss = match(array, output, reshapes))
        found.push_back(*loss);
  return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
}

std::optional<DataLoss>
mpc::tool::findLossFor(const DataSource &data,
                       const std::vector<OutputShape> &outputs) {
  std::vector<StoredArray> arrays;
  for (const char *name : {"labels", "targets"})
    if (data.has(name))
      arrays.push_back(readWhole(data, name));
  // Prefer an exact fit.
  std::optional<DataLoss> exact = findOnlyLoss(arrays, outputs, false);
  return exact ? exact : findOnlyLoss(arrays, outputs, true);
}

std::string mpc::tool::explainNoLoss(const DataSource &data,
                                     const std::vector<OutputShape> &outputs) {
  if (data.has("labels")) {
    StoredArray labels = readWhole(data, "labels");
    bool fitsClasses = false;
    for (const OutputShape &output : outputs)
      fitsClasses |= !labels.shape.empty() && !output.shape.empty() &&
                     !findAxes(labels.shape, output.shape, true).empty();
    if (isFloat(labels) && fitsClasses)
      return "'labels' is " + labels.dtype +
             ", but class labels must be integers" +
             (areWhole(labels) ? "; save data['labels'].astype('int64')" : "");
  }
  return "no array 'labels' or 'targets' fits exactly one output";
}

std::string mpc::tool::withAdvice(std::string message,
                                  const std::string &advice) {
  if (advice.empty())
    return message;
  for (const char *general :
       {"; if it is one-hot", "; fix it with ", ": rename '"})
    message.erase(std::min(message.rfind(general), message.size()));
  return message + advice;
}

/// The path of the model that was compiled, for a command line.
static std::string modelOf(const Program &program) {
  std::string model = program.option("model_path");
  if (model.empty())
    return "MODEL.onnx";
  std::filesystem::path folder =
      std::filesystem::path(program.path).parent_path();
  return (folder / model).lexically_normal().string();
}

/// Whether findLossFor chooses losses such as this one.
static bool isChosenFromData(const std::string &loss) {
  std::string kind = loss.substr(0, loss.find(' '));
  return kind == kCrossEntropy || kind == "mse" || kind == "bce-with-logits";
}

std::string mpc::tool::adviseLoss(const Program &program,
                                  const DataOptions &data) {
  // "mse of output 'y' against input 'targets'"; other texts mean that the loss
  // is part of the model.
  std::string loss = program.option("loss");
  static constexpr const char *kAgainst = "' against input '";
  if (loss.find(kAgainst) == std::string::npos)
    return "";
  size_t at = loss.find(kAgainst) + std::strlen(kAgainst);
  std::string input = loss.substr(at, loss.find('\'', at) - at);
  std::vector<OutputShape> outputs;
  for (const Binding &output : program.outputs("predict"))
    if (loss.find(" of output '" + output.name + "'") != std::string::npos)
      outputs.push_back({output.name, output.shape});
  try {
    std::vector<std::string> notes;
    std::unique_ptr<DataSource> source =
        selectArrays(openData(data), data, {}, notes);
    // Data does not tell losses apart that compare with the same array.
    if (source->has(input) && !isChosenFromData(loss))
      return "";
    std::optional<DataLoss> better = findLossFor(*source, outputs);
    if (!better)
      return "";
    std::string axis =
        "classes along axis " + std::to_string(better->labelAxis);
    bool isSame =
        loss.rfind(better->kind + " ", 0) == 0 &&
        (better->labelAxis == 0 || loss.find(axis) != std::string::npos);
    std::string remedy = better->remedy();
    if (isSame)
      return remedy.empty() ? "" : "; " + better->why + remedy;
    return "; " + better->why + remedy +
           "; to train on it, recompile: mpc compile " + modelOf(program) +
           " " + better->options() + " -o " +
           (program.isBorrowed() ? "MODEL.mpc" : program.path);
  } catch (const std::exception &) {
    return ""; // Problems of the file have already been reported.
  }
}
