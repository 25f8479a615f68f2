//===- BindArrays.cpp - Match arrays with inputs --------------------------===//

#include "tools/mpc/data/BindArrays.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/ConvertArray.h"

#include <algorithm>

using namespace mpc::tool;

/// A suggestion if the data has 'labels' (for classes) but the loss needs
/// 'targets' (for numbers), or the other way round; otherwise "".
static std::string suggestOther(const std::vector<std::string> &names,
                                const std::string &wanted) {
  if (wanted != "labels" && wanted != "targets")
    return "";
  std::string other = wanted == "labels" ? "targets" : "labels";
  if (std::find(names.begin(), names.end(), other) == names.end())
    return "";
  const char *taken = wanted == "labels" ? "class labels" : "numbers";
  return std::string("; it has '") + other + "', but this model's loss takes " +
         taken + ": rename '" + other + "' to '" + wanted +
         "' if it contains " + taken;
}

std::string mpc::tool::expectedType(const Binding &input) {
  std::string text = numpyName(input.dtype);
  if (text.empty()) // NumPy lacks the type.
    text = mpc_dtype_name(input.dtype);
  text += "[";
  for (size_t i = 0; i < input.shape.size(); ++i)
    text += (i > 0 ? "," : "") + (static_cast<int64_t>(i) == input.batchDim
                                      ? std::string("N")
                                      : std::to_string(input.shape[i]));
  return text + "]";
}

void mpc::tool::requireArrays(const DataSource &source,
                              const std::vector<Binding> &inputs) {
  if (!source.names().empty() || inputs.empty())
    return;
  std::vector<std::string> needed;
  for (const Binding &input : inputs)
    needed.push_back("'" + input.name + "' (" + expectedType(input) + ")");
  throw Failure(Usage, source.path + " contains no arrays; the model needs " +
                           joinWords(needed));
}

/// Throws unless the data has an array with the name of the input.
static void requireName(const DataSource &source, const Binding &input) {
  const std::vector<std::string> names = source.names();
  if (std::find(names.begin(), names.end(), input.name) != names.end())
    return;
  // Limit the length of the message.
  constexpr size_t mostNamed = 16;
  std::vector<std::string> quoted;
  for (size_t i = 0; i < std::min(mostNamed, names.size()); ++i)
    quoted.push_back("'" + names[i] + "'");
  if (names.size() > mostNamed)
    quoted.push_back(formatCount(names.size() - mostNamed, "other"));
  std::string message = source.path + " has no array '" + input.name +
                        "', which the model takes as " + expectedType(input);
  if (std::string other = suggestOther(names, input.name); !other.empty())
    message += other;
  else if (std::string nearest = findNearest(input.name, names);
           !nearest.empty())
    message += "; did you mean '" + nearest + "'?";
  else if (!quoted.empty())
    message += "; it has " + joinWords(quoted);
  if (source.isTable())
    message += "; --map " + input.name + "=NAME says which column it is";
  throw Failure(Usage, message);
}

/// True if `shape` is that of the input, except for the number of samples.
static bool fits(const std::vector<int64_t> &shape, const Binding &input) {
  if (shape.size() != input.shape.size())
    return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (static_cast<int64_t>(i) != input.batchDim && shape[i] != input.shape[i])
      return false;
  return true;
}

/// How to make an array of this shape fit the input, for common mistakes:
/// "; fix it with .squeeze(-1)"; otherwise "".
static std::string findRemedy(const std::vector<int64_t> &shape,
                              const Binding &input) {
  std::vector<int64_t> less = shape, more = shape;
  more.push_back(1);
  if (fits(more, input))
    return shape.size() == 1 ? "; fix it with .reshape(-1, 1)"
                             : "; fix it with numpy.expand_dims(.., -1)";
  if (shape.size() < 2)
    return "";
  less.pop_back();
  if (!fits(less, input))
    return "";
  if (shape.back() == 1)
    return "; fix it with .squeeze(-1)";
  // The array has a number for each class, but the input is a class number.
  return input.range && shape.back() == input.range->high
             ? "; if it is one-hot, convert it to class labels with .argmax(-1)"
             : "";
}

/// Throws unless an array of this type and shape can be bound to the input.
static void requireType(const DataSource &source,
                        const mpc::npz::ArrayType &array,
                        const Binding &input) {
  std::string text = source.path + ": array '" + input.name + "' must be " +
                     expectedType(input) + ", but is " +
                     mpc::npz::typeText(array);
  if (!fits(array.shape, input))
    throw Failure(Usage, text + findRemedy(array.shape, input));
  std::string wanted = numpyName(input.dtype);
  if (array.dtype == wanted || mayConvert(array.dtype, input.dtype))
    return;
  bool losesFractions =
      isFloat(array) && !areWhole(readWhole(source, array.name));
  throw Failure(Usage,
                text + (losesFractions
                            ? "; its values are not all whole numbers"
                            : "; convert it, for example with .astype('" +
                                  wanted + "')"));
}

/// Throws if the array contains the names of classes, but the input is not one
/// of integers.
static void refuseClasses(const DataSource &source, const std::string &name,
                          const Binding &input) {
  std::vector<std::string> classes = source.classesOf(name);
  if (classes.empty() || input.dtype == MPC_DTYPE_I64 ||
      input.dtype == MPC_DTYPE_I32)
    return;
  throw Failure(Usage, source.path + ": '" + input.name + "' must be " +
                           expectedType(input) +
                           ", but contains texts, such as '" + classes[0] +
                           "'; only integer inputs take texts, as classes");
}

/// The other name of the array that a loss compares with.
static std::string otherName(const Binding &input) {
  return input.name == "labels" ? "targets" : "labels";
}

/// Whether the data has the array that a loss compares with only under the
/// other name, with a fitting shape and a type that may be converted.
static bool isNamedOtherwise(const DataSource &source, const Binding &input) {
  if ((input.name != "labels" && input.name != "targets") ||
      source.has(input.name) || !source.has(otherName(input)))
    return false;
  mpc::npz::ArrayType header = source.header(otherName(input));
  return fits(header.shape, input) && mayConvert(header.dtype, input.dtype);
}

std::string mpc::tool::findArray(const DataSource &source,
                                 const Binding &input) {
  if (isNamedOtherwise(source, input))
    return otherName(input);
  requireName(source, input);
  requireType(source, source.header(input.name), input);
  refuseClasses(source, input.name, input);
  return input.name;
}

std::vector<StoredArray> mpc::tool::readArray(const DataSource &source,
                                              const std::string &name,
                                              const Binding &input,
                                              std::vector<std::string> &notes) {
  std::vector<StoredArray> parts = source.read(name);
  for (StoredArray &part : parts) {
    if (name == input.name)
      continue;
    if (!isFloat(part) && input.name == "targets" && !isZeroOrOne(part))
      requireName(source, input); // Reject: these may be classes.
    part.name = input.name;
  }
  if (name != input.name)
    notes.push_back(source.path + ": array '" + name + "' is taken for '" +
                    input.name + "'");
  return parts;
}

void mpc::tool::noteConversion(const npz::ArrayType &array,
                               const Binding &input, const std::string &path,
                               const std::string &remark,
                               std::vector<std::string> &notes) {
  std::string wanted = numpyName(input.dtype);
  if (array.dtype != wanted)
    notes.push_back(path + ": array '" + input.name + "' is converted from " +
                    array.dtype + " to " + wanted + remark);
}
