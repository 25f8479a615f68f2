//===- TokenWindows.cpp - Samples of a long text --------------------------===//

#include "tools/mpc/data/sources/TokenWindows.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/BindArrays.h"
#include "tools/mpc/data/sources/OpenedFile.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace mpc::tool;

//===----------------------------------------------------------------------===//
// Text files
//===----------------------------------------------------------------------===//

namespace {
class TextSource : public DataSource {
public:
  explicit TextSource(const std::string &path) : DataSource(path), file(path) {}

  std::vector<std::string> names() const override {
    return {std::filesystem::path(path).stem().string()};
  }
  mpc::npz::ArrayType header(const std::string &name) const override {
    mpc::npz::ArrayType type;
    type.name = name;
    type.dtype = "uint8";
    type.shape = {static_cast<int64_t>(file.size)};
    return type;
  }
  std::vector<StoredArray> read(const std::string &name) const override {
    return {StoredArray(path, header(name), file.take(0, file.size))};
  }

private:
  const OpenedFile file;
};
} // namespace

std::unique_ptr<DataSource> mpc::tool::openText(const std::string &path) {
  return std::make_unique<TextSource>(path);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Whether an input takes the tokens of texts, or something for each of them.
static bool isOfTexts(const Binding &input) {
  return input.shape.size() == 2 && input.batchDim == 0 && input.shape[1] > 0;
}

static bool takesTokens(const Binding &input) {
  return input.dtype == MPC_DTYPE_I64 || input.dtype == MPC_DTYPE_I32;
}

namespace {
/// What an input takes for each token.
enum class Content { Tokens, Labels, Positions, Ones };
} // namespace

static Content contentOf(const Binding &input) {
  if (input.name == "labels" || input.name == "targets")
    return Content::Labels;
  if (input.name.find("mask") != std::string::npos)
    return Content::Ones;
  if (takesTokens(input) && input.name.find("position") != std::string::npos)
    return Content::Positions;
  return Content::Tokens;
}

namespace {
class WindowsSource : public DataSource {
public:
  WindowsSource(const StoredArray &tokens, uint64_t windows, uint64_t stride,
                uint64_t shift)
      : DataSource(tokens.path), tokens(tokens), windows(windows),
        stride(stride), shift(shift) {}

  // All inputs take columns that are made for them.
  std::vector<std::string> names() const override { return {}; }
  mpc::npz::ArrayType header(const std::string &) const override {
    return tokens;
  }
  std::vector<StoredArray> read(const std::string &) const override {
    return {tokens};
  }

  std::unique_ptr<Column>
  makeColumn(const Binding &input, const Scaling &scaling,
             const Augmentation &augmentation) const override {
    const Content content = contentOf(input);
    const uint64_t length = input.shape[1];
    if (content == Content::Ones || content == Content::Positions)
      return std::make_unique<StoredColumn>(
          input, std::vector<StoredArray>{repeated(input, length, content)},
          scaling);
    const uint64_t offset =
        (content == Content::Labels ? shift : 0) * tokens.elementSize();
    StoredArray part = tokens;
    part.name = input.name;
    part.elements = tokens.elements.from(offset);
    part.shape = {static_cast<int64_t>(windows), static_cast<int64_t>(length)};
    part.rowStride = stride;
    auto column = std::make_unique<StoredColumn>(
        input, std::vector<StoredArray>{std::move(part)}, scaling);
    if (augmentation.shift)
      column->shiftRows(stride);
    return column;
  }

private:
  /// The same numbers for each window.
  StoredArray repeated(const Binding &input, uint64_t length,
                       Content content) const {
    std::vector<char> bytes(length * sizeof(int64_t));
    for (uint64_t i = 0; i < length; ++i) {
      const int64_t value = content == Content::Ones ? 1 : i;
      std::memcpy(&bytes[i * sizeof(value)], &value, sizeof(value));
    }
    mpc::npz::ArrayType type;
    type.name = input.name;
    type.dtype = "int64";
    type.shape = {static_cast<int64_t>(windows), static_cast<int64_t>(length)};
    StoredArray array(path, type, std::move(bytes));
    array.rowStride = 0;
    return array;
  }

  const StoredArray tokens;
  const uint64_t windows, stride, shift;
};
} // namespace

/// Whether the data is one row of integers, and no input takes it as it is.
static bool isTokenRow(const DataSource &source,
                       const std::vector<Binding> &inputs) {
  std::vector<std::string> names = source.names();
  if (names.size() != 1)
    return false;
  mpc::npz::ArrayType row = source.header(names[0]);
  return row.shape.size() == 1 && !isFloat(row) &&
         std::any_of(inputs.begin(), inputs.end(), [](const Binding &input) {
           return isOfTexts(input) && takesTokens(input) &&
                  contentOf(input) == Content::Tokens;
         });
}

std::unique_ptr<DataSource> mpc::tool::cutWindows(
    std::unique_ptr<DataSource> source, const DataOptions &options,
    const std::vector<Binding> &inputs, std::vector<std::string> &notes) {
  const Augmentation augmentation = parseAugmentation(options.augment);
  if (!isTokenRow(*source, inputs)) {
    const bool isShifted = augmentation.shift;
    if (options.stride || isShifted)
      throw Failure(Usage, (isShifted ? std::string("--augment=shift")
                                      : std::string("--stride")) +
                               " is for a text or a row of tokens, which " +
                               source->path + " is not");
    return source;
  }
  uint64_t length = 0;
  size_t numTokens = 0;
  for (const Binding &input : inputs) {
    numTokens += contentOf(input) == Content::Tokens;
    if (!isOfTexts(input) || numTokens > 1 ||
        (length != 0 && length != static_cast<uint64_t>(input.shape[1])))
      throw Failure(Usage, source->path +
                               " is a row of tokens, but the model "
                               "also takes '" +
                               input.name + "' (" + expectedType(input) +
                               "); write arrays for all inputs");
    length = input.shape[1];
  }
  StoredArray tokens = readWhole(*source, source->names()[0]);
  const uint64_t stride = options.stride.value_or(length);
  const uint64_t shift = options.labelShift.value_or(1);
  const uint64_t count = tokens.count();
  if (augmentation.shift && stride == 1)
    throw Failure(Usage, "--augment=shift moves windows by less than --stride, "
                         "which is 1 here; use a larger one, or omit shift");
  // All windows may begin up to stride - 1 tokens later.
  const uint64_t needed =
      length + shift + (augmentation.shift ? stride - 1 : 0);
  if (count < needed)
    throw Failure(Usage, source->path + " has " + formatCount(count, "token") +
                             "; one sample needs " + formatCount(needed));
  const uint64_t windows = (count - needed) / stride + 1;
  notes.push_back(
      source->path + ": " + formatCount(count, "token") + " make " +
      formatCount(windows, "sample") + " of " + formatCount(length) + ", " +
      formatCount(stride) + " apart (--stride)" +
      (augmentation.shift ? ", which begin at another token in each epoch"
                          : "") +
      "; labels are the tokens " +
      (shift == 0 ? "themselves" : formatCount(shift) + " later") +
      " (--label-shift)");
  return std::make_unique<WindowsSource>(tokens, windows, stride, shift);
}
