//===- Dataset.cpp - The arrays of an .npz file, in batches ---------------===//

#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/base/Memory.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/training/Sampler.h"

#include "runtime/src/base/number.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>

using namespace mpc::tool;

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

/// Removes the array for `input` from `arrays` and returns it.
static mpc::npz::Array takeArray(mpc::npz::Arrays &arrays,
                                 const Binding &input) {
  auto found = std::find_if(
      arrays.begin(), arrays.end(),
      [&](const mpc::npz::Array &array) { return array.name == input.name; });
  mpc::npz::Array array = std::move(*found);
  arrays.erase(found);
  return array;
}

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

/// "float32[N,1,8,8]".
static std::string expectedType(const Binding &input) {
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

/// Throws if the file contains nothing.
static void requireArrays(const std::vector<std::string> &names,
                          const std::vector<Binding> &inputs,
                          const std::string &path) {
  if (!names.empty() || inputs.empty())
    return;
  std::vector<std::string> needed;
  for (const Binding &input : inputs)
    needed.push_back("'" + input.name + "' (" + expectedType(input) + ")");
  throw Failure(Usage, path + " contains no arrays; the model needs " +
                           joinWords(needed));
}

/// Throws unless `names` contains the name of the input.
static void requireName(const std::vector<std::string> &names,
                        const Binding &input, const std::string &path) {
  if (std::find(names.begin(), names.end(), input.name) != names.end())
    return;
  // Limit the length of the message.
  constexpr size_t mostNamed = 16;
  std::vector<std::string> quoted;
  for (size_t i = 0; i < std::min(mostNamed, names.size()); ++i)
    quoted.push_back("'" + names[i] + "'");
  if (names.size() > mostNamed)
    quoted.push_back(formatCount(names.size() - mostNamed, "other"));
  std::string message = path + " has no array '" + input.name +
                        "', which the model takes as " + expectedType(input);
  if (std::string other = suggestOther(names, input.name); !other.empty())
    message += other;
  else if (std::string nearest = findNearest(input.name, names);
           !nearest.empty())
    message += "; did you mean '" + nearest + "'?";
  else if (!quoted.empty())
    message += "; it has " + joinWords(quoted);
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

/// Throws unless an array of this type and shape can be bound to the input. If
/// `array` is only a header, `reader` reads its elements.
static void requireType(const mpc::npz::Array &array, const Binding &input,
                        const std::string &path,
                        const mpc::npz::Reader *reader = nullptr) {
  std::string text = path + ": array '" + input.name + "' must be " +
                     expectedType(input) + ", but is " +
                     mpc::npz::typeText(array);
  if (!fits(array.shape, input))
    throw Failure(Usage, text + findRemedy(array.shape, input));
  std::string wanted = numpyName(input.dtype);
  if (array.dtype == wanted || mayConvert(array.dtype, input.dtype))
    return;
  bool losesFractions =
      isFloat(array) && !areWhole(reader ? reader->read(array.name) : array);
  throw Failure(Usage,
                text + (losesFractions
                            ? "; its values are not all whole numbers"
                            : "; convert it, for example with .astype('" +
                                  wanted + "')"));
}

/// The other name of the array that a loss compares with.
static std::string otherName(const Binding &input) {
  return input.name == "labels" ? "targets" : "labels";
}

/// Whether the file has the array that a loss compares with only under the
/// other name, with a fitting shape and a type that may be converted.
static bool isNamedOtherwise(const mpc::npz::Reader &reader,
                             const Binding &input) {
  if ((input.name != "labels" && input.name != "targets") ||
      reader.has(input.name) || !reader.has(otherName(input)))
    return false;
  mpc::npz::Array header = reader.header(otherName(input));
  return fits(header.shape, input) && mayConvert(header.dtype, input.dtype);
}

/// Reads only the arrays that inputs need, after checking that they fit: a file
/// may contain, or claim to contain, far more data.
static mpc::npz::Arrays readArrays(const std::string &path,
                                   const std::vector<Binding> &inputs,
                                   std::vector<std::string> &notes) {
  try {
    mpc::npz::Reader reader(path);
    requireArrays(reader.names(), inputs, path);
    for (const Binding &input : inputs) {
      if (isNamedOtherwise(reader, input))
        continue;
      requireName(reader.names(), input, path);
      requireType(reader.header(input.name), input, path, &reader);
    }
    mpc::npz::Arrays arrays;
    for (const Binding &input : inputs) {
      bool isOther = isNamedOtherwise(reader, input);
      arrays.push_back(reader.read(isOther ? otherName(input) : input.name));
      mpc::npz::Array &array = arrays.back();
      if (!isOther)
        continue;
      if (!isFloat(array) && input.name == "targets" && !isZeroOrOne(array))
        requireName(reader.names(), input, path); // Reject: may be classes.
      notes.push_back(path + ": array '" + array.name + "' is taken for '" +
                      input.name + "'");
      array.name = input.name;
    }
    return arrays;
  } catch (const mpc::npz::FileError &error) {
    throw Failure(InputOutput, error.what());
  } catch (const mpc::npz::MemoryError &error) {
    throw Failure(Limit, error.what());
  }
}

Dataset::Dataset(const std::string &path, const std::vector<Binding> &inputs)
    : path(path) {
  std::vector<std::string> notes;
  npz::Arrays arrays = readArrays(path, inputs, notes);
  for (const Binding &input : inputs)
    bind(arrays, input, notes);
  prepareTensors();
  for (const std::string &text : notes)
    noteOnce(text);
}

Dataset::Dataset(const std::string &path, npz::Arrays arrays,
                 const std::vector<Binding> &inputs,
                 std::vector<std::string> &notes)
    : path(path) {
  for (const Binding &input : inputs)
    bind(arrays, input, notes);
  prepareTensors();
}

/// "labels[137]", "tokens[137,5]": the element in NumPy's syntax.
static std::string nameOfElement(const mpc::npz::Array &array, uint64_t index) {
  std::string text = "]";
  for (size_t i = array.shape.size(); i-- > 0;) {
    text = (i > 0 ? "," : "") + std::to_string(index % array.shape[i]) + text;
    index /= array.shape[i];
  }
  return array.shape.empty() ? array.name : array.name + "[" + text;
}

/// Throws if a finite number of the array would become infinite in float32.
static void refuseOverflow(const mpc::npz::Array &array, const Binding &input,
                           const std::string &path) {
  if (array.dtype != "float64" || input.dtype != MPC_DTYPE_F32)
    return;
  for (uint64_t i = 0; i < array.data.size() / sizeof(double); ++i) {
    double value;
    std::memcpy(&value, array.data.data() + i * sizeof(value), sizeof(value));
    if (std::isfinite(value) && std::isinf(static_cast<float>(value)))
      throw Failure(Usage, nameOfElement(array, i) + " of " + path +
                               format(", %g, is too large for float32", value));
  }
}

void Dataset::bind(npz::Arrays &arrays, const Binding &input,
                   std::vector<std::string> &notes) {
  Column column;
  column.input = input;
  std::vector<std::string> names;
  for (const npz::Array &array : arrays)
    names.push_back(array.name);
  requireName(names, input, path);
  column.array = std::make_shared<npz::Array>(takeArray(arrays, input));
  npz::Array &array = *column.array;
  requireType(array, input, path);
  std::string where = path + ": array '" + input.name + "'";
  std::string wanted = numpyName(input.dtype), found = array.dtype;
  if (found != wanted) {
    refuseOverflow(array, input, path);
    Conversion conversion = convertArray(array, input.dtype);
    if (!conversion.fault.empty())
      throw Failure(Usage, where + " must be " + expectedType(input) +
                               ", but is " + npz::typeText(array) + " and " +
                               conversion.fault);
    notes.push_back(where + " is converted from " + found + " to " + wanted +
                    conversion.remark);
  }

  column.innerBytes = mpc_dtype_size(input.dtype);
  for (size_t i = 0; i < input.shape.size(); ++i) {
    if (static_cast<int64_t>(i) < input.batchDim)
      column.outer *= input.shape[i];
    else if (static_cast<int64_t>(i) > input.batchDim)
      column.innerBytes *= input.shape[i];
  }
  countSamples(column);
  checkValues(column);
  columns.push_back(std::move(column));
}

void Dataset::countSamples(const Column &column) {
  const Binding &input = column.input;
  if (input.batchDim < 0)
    return;
  uint64_t count = column.array->shape[input.batchDim];
  if (count == 0)
    throw Failure(Usage, path + ": array '" + input.name + "' has no samples");
  if (sampleArray.empty()) {
    sampleArray = input.name;
    samples = count;
    batch = input.shape[input.batchDim];
  }
  if (count != samples)
    throw Failure(
        Usage, format("%s: array '%s' has %s, but '%s' has %s", path.c_str(),
                      input.name.c_str(), formatCount(count, "sample").c_str(),
                      sampleArray.c_str(), formatCount(samples).c_str()));
  if (static_cast<uint64_t>(input.shape[input.batchDim]) != batch)
    throw Failure(Damaged, "inputs '" + input.name + "' and '" + sampleArray +
                               "' of the program differ in batch size");
}

/// Element `index` of an array of integers or booleans.
static int64_t integerAt(const mpc::npz::Array &array, mpc_dtype_t dtype,
                         uint64_t index) {
  int64_t wide;
  int32_t narrow;
  switch (dtype) {
  case MPC_DTYPE_I64:
    std::memcpy(&wide, array.data.data() + index * sizeof(wide), sizeof(wide));
    return wide;
  case MPC_DTYPE_I32:
    std::memcpy(&narrow, array.data.data() + index * sizeof(narrow),
                sizeof(narrow));
    return narrow;
  default:
    return static_cast<unsigned char>(array.data[index]);
  }
}

/// "be in [0, 10)", "be less than 10", "be at least 0".
static std::string textOf(const Binding::Range &range) {
  std::string low = std::to_string(range.low);
  std::string high = std::to_string(range.high);
  if (range.high == INT64_MAX)
    return "be at least " + low;
  if (range.low == INT64_MIN)
    return "be less than " + high;
  return "be in [" + low + ", " + high + ")";
}

/// Checks all values before training begins. The runtime would report an
/// invalid value only by its position in a batch, and perhaps only after hours.
void Dataset::checkValues(const Column &column) const {
  const npz::Array &array = *column.array;
  Binding::Range range = {0, 2, std::nullopt};
  if (column.input.range)
    range = *column.input.range;
  else if (column.input.dtype != MPC_DTYPE_BOOL)
    return;
  uint64_t count = array.count(), wrong = 0, first = 0, ignored = 0;
  for (uint64_t i = 0; i < count; ++i) {
    int64_t value = integerAt(array, column.input.dtype, i);
    ignored += value == range.ignored;
    if (!range.allows(value) && wrong++ == 0)
      first = i;
  }
  if (wrong > 0) {
    std::string message = format(
        "%s: %s is %lld; %s must %s", path.c_str(),
        nameOfElement(array, first).c_str(),
        static_cast<long long>(integerAt(array, column.input.dtype, first)),
        array.name == "labels" ? "labels" : "values", textOf(range).c_str());
    if (range.ignored)
      message += format(", or %lld (ignored by the loss)",
                        static_cast<long long>(*range.ignored));
    if (wrong > 1)
      message +=
          "; " + formatCount(wrong - 1, "other value") +
          (wrong == 2 ? " is out of range too" : " are out of range too");
    throw Failure(Usage, message);
  }
  if (count > 0 && ignored == count && range.needsOthers)
    throw Failure(Usage,
                  format("%s: no label counts: every value of '%s' is %lld, "
                         "which the loss ignores",
                         path.c_str(), array.name.c_str(),
                         static_cast<long long>(*range.ignored)));
}

void Dataset::prepareTensors() {
  // A model without a batch dimension takes all data at once.
  if (sampleArray.empty())
    samples = batch = 1;
  for (Column &column : columns) {
    if (column.input.batchDim >= 0)
      resizeOrThrow(column.buffer, column.outer * batch * column.innerBytes,
                    "a batch of '" + column.input.name + "'");
    std::vector<char> &data =
        column.input.batchDim >= 0 ? column.buffer : column.array->data;
    tensors.push_back({sizeof(mpc_tensor_t),
                       column.input.dtype,
                       static_cast<uint32_t>(column.input.shape.size()),
                       column.input.shape.data(),
                       data.data(),
                       {}});
  }
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Dataset::Dataset(const Dataset &whole, const std::vector<Binding> &inputs,
                 std::vector<uint64_t> part)
    : path(whole.path + " (held out)"), sampleArray(whole.sampleArray),
      samples(whole.samples), part(std::move(part)), batch(whole.batch) {
  for (const Binding &input : inputs) {
    auto found = std::find_if(whole.columns.begin(), whole.columns.end(),
                              [&](const Column &column) {
                                return column.input.name == input.name &&
                                       column.input.dtype == input.dtype &&
                                       column.input.shape == input.shape;
                              });
    if (found == whole.columns.end())
      throw Failure(Usage, "the data for training has no array '" + input.name +
                               "' as evaluation takes it");
    columns.push_back(*found);
  }
  prepareTensors();
}

std::unique_ptr<Dataset> Dataset::holdOut(double fraction,
                                          const std::vector<Binding> &inputs) {
  if (sampleArray.empty())
    throw Failure(Usage, path + ": the data cannot be split, because the model "
                                "has no batch dimension");
  uint64_t count = std::max<uint64_t>(1, std::llround(fraction * samples));
  std::vector<uint64_t> order = permute(samples, /*seed=*/0, /*epoch=*/0);
  auto sorted = [&](uint64_t begin, uint64_t end) {
    std::vector<uint64_t> rows(order.begin() + begin, order.begin() + end);
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  if (count >= samples)
    throw Failure(Usage, path + " has " + formatCount(samples, "sample") +
                             ": holding out " + formatCount(count) +
                             " leaves none to train on");
  part = sorted(count, samples);
  return std::unique_ptr<Dataset>(new Dataset(*this, inputs, sorted(0, count)));
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

const std::vector<mpc_tensor_t> &
Dataset::gather(const std::vector<uint64_t> &indices) {
  assert(!indices.empty() && indices.size() <= batch && "not one batch");
  for (Column &column : columns) {
    if (column.input.batchDim < 0)
      continue;
    uint64_t bytes = column.innerBytes;
    for (uint64_t o = 0; o < column.outer; ++o) {
      const char *from = column.array->data.data() + o * samples * bytes;
      char *to = column.buffer.data() + o * batch * bytes;
      for (uint64_t i = 0; i < batch; ++i, to += bytes) {
        uint64_t index =
            rowOf(i < indices.size() ? indices[i] : indices.back());
        std::memcpy(to, from + index * bytes, bytes);
      }
    }
  }
  return tensors;
}

/// Whether the loss ignores all labels that this column has for a sample.
bool Dataset::Column::ignores(uint64_t sample, uint64_t samples) const {
  if (!input.range || !input.range->ignored || input.batchDim < 0)
    return false;
  uint64_t inner = innerBytes / mpc_dtype_size(input.dtype);
  for (uint64_t o = 0; o < outer; ++o)
    for (uint64_t i = 0; i < inner; ++i)
      if (integerAt(*array, input.dtype, (o * samples + sample) * inner + i) !=
          *input.range->ignored)
        return false;
  return true;
}

std::string
Dataset::explainNoLabels(const std::vector<uint64_t> &indices) const {
  constexpr size_t mostNamed = 4;
  for (const Column &column : columns) {
    if (!std::all_of(indices.begin(), indices.end(), [&](uint64_t sample) {
          return column.ignores(rowOf(sample), samples);
        }))
      continue;
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(indices.size(), mostNamed); ++i)
      names.push_back(std::to_string(rowOf(indices[i])));
    if (indices.size() > mostNamed)
      names.push_back(formatCount(indices.size() - mostNamed, "other"));
    return format("no label of the batch counts: '%s' is %lld, which the loss "
                  "ignores, for samples %s of %s; leave out what has no label, "
                  "or compile with a larger --batch",
                  column.input.name.c_str(),
                  static_cast<long long>(*column.input.range->ignored),
                  joinWords(names).c_str(), path.c_str());
  }
  return "";
}

/// The position of the first nan (or infinity) among `count` floats starting at
/// `first`; `first + count` if there is none.
static uint64_t findValue(const mpc::npz::Array &array, mpc_dtype_t dtype,
                          bool infinite, uint64_t first, uint64_t count) {
  for (uint64_t i = first; i < first + count; ++i) {
    float single = 0;
    double wide = 0;
    uint16_t half = 0;
    if (dtype == MPC_DTYPE_F32)
      std::memcpy(&single, array.data.data() + i * sizeof(single),
                  sizeof(single));
    else if (dtype == MPC_DTYPE_F64)
      std::memcpy(&wide, array.data.data() + i * sizeof(wide), sizeof(wide));
    else if (dtype == MPC_DTYPE_F16)
      std::memcpy(&half, array.data.data() + i * sizeof(half), sizeof(half));
    // Without the sign bit, the bits of nans are greater than those of
    // infinity.
    half &= 0x7fff;
    if (infinite ? std::isinf(single) || std::isinf(wide) || half == 0x7c00
                 : std::isnan(single) || std::isnan(wide) || half > 0x7c00)
      return i;
  }
  return first + count;
}

/// "x[2,1] in data.npz" for the first nan (or infinity) of the samples.
std::string Dataset::findValue(const std::vector<uint64_t> &indices,
                               bool infinite) const {
  auto find = [&](const Column &column, uint64_t first, uint64_t count) {
    uint64_t found =
        ::findValue(*column.array, column.input.dtype, infinite, first, count);
    return found == first + count
               ? std::string()
               : nameOfElement(*column.array, found) + " in " + path;
  };
  for (const Column &column : columns) {
    std::string location;
    if (column.input.batchDim < 0)
      location = find(column, 0, column.array->count());
    uint64_t inner = column.innerBytes / mpc_dtype_size(column.input.dtype);
    for (uint64_t o = 0; column.input.batchDim >= 0 && o < column.outer; ++o)
      for (uint64_t sample : indices)
        if (location.empty())
          location = find(column, (o * samples + rowOf(sample)) * inner, inner);
    if (!location.empty())
      return location;
  }
  return "";
}

std::string
Dataset::explainNonFinite(const std::vector<uint64_t> &indices) const {
  for (bool infinite : {false, true})
    if (std::string location = findValue(indices, infinite); !location.empty())
      return location + (infinite ? " is inf" : " is nan") +
             "; fix or remove such samples";
  return "";
}

//===----------------------------------------------------------------------===//
// Fingerprints
//===----------------------------------------------------------------------===//

/// A checksum of pieces from all over the data, or of all data if it is small.
static uint64_t sampleChecksum(const std::vector<char> &data) {
  constexpr size_t numPieces = 256, pieceBytes = 4096;
  if (data.size() <= numPieces * pieceBytes)
    return mpc::runtime::checksum(data.data(), data.size());
  std::vector<char> pieces;
  for (size_t i = 0; i < numPieces; ++i) {
    // The first piece is at the beginning, the last one at the end.
    size_t first = static_cast<unsigned __int128>(data.size() - pieceBytes) *
                   i / (numPieces - 1);
    pieces.insert(pieces.end(), data.begin() + first,
                  data.begin() + first + pieceBytes);
  }
  return mpc::runtime::checksum(pieces.data(), pieces.size());
}

/// Lines, keyed by the names at their beginning: "images<tab>f32[1500,1,8,8]
/// 0123...".
static std::map<std::string, std::string> linesOf(const std::string &text) {
  std::map<std::string, std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (size_t tab = line.rfind('\t'); tab != std::string::npos)
      lines[line.substr(0, tab)] = line.substr(tab + 1);
  return lines;
}

std::string Dataset::fingerprint() const {
  if (!print.empty())
    return print;
  for (const Column &column : columns)
    print += printable(column.input.name) + "\t" +
             formatType(column.input.dtype, column.array->shape) + " " +
             format("%016llx", static_cast<unsigned long long>(
                                   sampleChecksum(column.array->data))) +
             "\n";
  return print;
}

std::vector<std::string>
Dataset::differencesFrom(const std::string &before) const {
  std::map<std::string, std::string> now = linesOf(fingerprint()),
                                     then = linesOf(before);
  std::vector<std::string> names;
  for (const auto &[name, line] : now)
    if (!then.count(name) || then[name] != line)
      names.push_back("'" + name + "'");
  for (const auto &[name, line] : then)
    if (!now.count(name))
      names.push_back("'" + name + "'");
  return names;
}
