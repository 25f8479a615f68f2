//===- LossFromData.cpp - The loss that a data set suggests ---------------===//

#include "tools/mpc/LossFromData.h"
#include "tools/mpc/ConvertArray.h"
#include "tools/mpc/Text.h"

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

/// The shape of one sample.
static std::vector<int64_t> ofSample(const std::vector<int64_t> &shape) {
  return {shape.begin() + !shape.empty(), shape.end()};
}

/// Whether every sample has one 1 along the last axis, and 0 elsewhere.
/// `array` holds nothing else.
static bool isOneHot(const mpc::npz::Array &array) {
  if (array.shape.size() < 2 || array.shape.back() < 2)
    return false;
  size_t size = array.elementSize(), row = size * array.shape.back();
  static const char zeros[8] = {};
  for (size_t at = 0; at < array.data.size(); at += row) {
    int64_t ones = 0;
    for (size_t i = 0; i < row; i += size)
      ones += std::memcmp(array.data.data() + at + i, zeros, size) != 0;
    if (ones != 1)
      return false;
  }
  return true;
}

/// The axis of an output that integers of this shape count along: 0 if several
/// are; none if there is none.
static std::optional<int64_t> findAxis(const std::vector<int64_t> &labels,
                                       const std::vector<int64_t> &output) {
  std::optional<int64_t> found;
  for (size_t axis = 1; axis < output.size(); ++axis) {
    std::vector<int64_t> rest = output;
    rest.erase(rest.begin() + axis);
    if (output[axis] >= 2 && ofSample(rest) == ofSample(labels))
      found = found ? 0 : axis;
  }
  return found;
}

/// The loss for an array against one output.
static std::optional<DataLoss> match(const mpc::npz::Array &array,
                                     const OutputShape &output) {
  if (output.shape.empty() || array.shape.empty())
    return std::nullopt; // Nothing counts samples.
  DataLoss loss;
  loss.output = output.name;
  loss.samples = array.shape[0];
  std::string what =
      "'" + array.name + "', " + mpc::npz::typeText(array) + ", ";
  bool isSame = array.shape.size() == output.shape.size() &&
                ofSample(array.shape) == ofSample(output.shape);
  std::vector<int64_t> column = array.shape;
  column.push_back(1);
  // One number for each sample may stand in a column, or not.
  bool isColumn =
      array.shape.size() == 1 && ofSample(column) == ofSample(output.shape);
  if (isSame || isColumn) {
    bool isBinary = isZeroOrOne(array);
    loss.kind = !isBinary         ? "mse"
                : isOneHot(array) ? kCrossEntropy
                                  : "bce-with-logits";
    loss.why = what + (!isBinary         ? "are numbers"
                       : isOneHot(array) ? "are one-hot"
                                         : "are 0 and 1");
    return loss;
  }
  if (isFloat(array))
    return std::nullopt;
  std::optional<int64_t> axis = findAxis(array.shape, output.shape);
  if (!axis)
    return std::nullopt;
  loss.kind = kCrossEntropy;
  loss.labelAxis = output.shape.size() > 2 ? *axis : 0;
  loss.why = what + "are classes";
  return loss;
}

std::optional<DataLoss>
mpc::tool::findLossFor(const npz::Reader &data,
                       const std::vector<OutputShape> &outputs) {
  std::optional<DataLoss> found;
  for (const char *name : {"labels", "targets"}) {
    if (!data.has(name))
      continue;
    npz::Array array = data.read(name);
    for (const OutputShape &output : outputs)
      if (std::optional<DataLoss> loss = match(array, output)) {
        if (found)
          return std::nullopt;
        found = loss;
      }
  }
  return found;
}

/// What was compiled, as a command is told of it.
static std::string modelOf(const Program &program) {
  std::string model = program.option("model_path");
  if (model.empty())
    return "MODEL.onnx";
  std::filesystem::path folder =
      std::filesystem::path(program.path).parent_path();
  return (folder / model).lexically_normal().string();
}

std::string mpc::tool::adviseLoss(const Program &program,
                                  const std::string &data) {
  // "mse of output 'y' against input 'targets'"; others are the model's own.
  std::string loss = program.option("loss");
  if (loss.find("' against input '") == std::string::npos)
    return "";
  std::vector<OutputShape> outputs;
  for (const Binding &output : program.outputs("predict"))
    if (loss.find(" of output '" + output.name + "'") != std::string::npos)
      outputs.push_back({output.name, output.shape});
  try {
    std::optional<DataLoss> better = findLossFor(npz::Reader(data), outputs);
    std::string axis =
        better ? "classes along axis " + std::to_string(better->labelAxis) : "";
    bool isSame =
        better && loss.rfind(better->kind + " ", 0) == 0 &&
        (better->labelAxis == 0 || loss.find(axis) != std::string::npos);
    if (!better || isSame)
      return "";
    return "; " + better->why + "; for these run: mpc compile " +
           modelOf(program) + " " + better->options() + " -o " + program.path;
  } catch (const std::exception &) {
    return ""; // What is wrong with the file has been found before.
  }
}
