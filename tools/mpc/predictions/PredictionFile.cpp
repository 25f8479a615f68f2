//===- PredictionFile.cpp - Write predictions -----------------------------===//

#include "tools/mpc/predictions/PredictionFile.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/data/arrow/ArrowStream.h"
#include "tools/mpc/predictions/ParquetFile.h"
#include "tools/npz/Npy.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

using namespace mpc::tool;

//===----------------------------------------------------------------------===//
// Elements as text
//===----------------------------------------------------------------------===//

template <typename Number> static std::string numberText(const char *bytes) {
  Number value;
  std::memcpy(&value, bytes, sizeof(value));
  char text[32];
  return std::string(text, std::to_chars(text, std::end(text), value).ptr);
}

/// Element `index` of an array; "nan" and "inf" as they are.
static std::string elementText(const mpc::npz::Array &array, uint64_t index) {
  const char *bytes = array.data.data() + index * array.elementSize();
  if (array.dtype == "float32")
    return numberText<float>(bytes);
  if (array.dtype == "float64")
    return numberText<double>(bytes);
  if (array.dtype == "int64")
    return numberText<int64_t>(bytes);
  if (array.dtype == "int32")
    return numberText<int32_t>(bytes);
  if (array.dtype == "uint8" || array.dtype == "bool")
    return std::to_string(static_cast<unsigned char>(*bytes));
  throw Failure(Usage, "output '" + array.name + "' is " + array.dtype +
                           ", which is written as .npz or .npy only");
}

/// The name of the class whose number the element is; null if there is none.
static const std::string *className(const mpc::npz::Array &array,
                                    uint64_t index,
                                    const ClassesOfArrays &classes) {
  auto names = classes.find(array.name);
  if (names == classes.end() || array.dtype != "int64")
    return nullptr;
  uint64_t number;
  std::memcpy(&number, array.data.data() + index * sizeof(number),
              sizeof(number));
  return number < names->second.size() ? &names->second[number] : nullptr;
}

/// The number of samples, which all arrays must have in their first dimension.
static uint64_t samplesOf(const mpc::npz::Arrays &arrays) {
  for (const mpc::npz::Array &array : arrays)
    if (array.shape.empty() || array.shape[0] != arrays[0].shape[0])
      throw Failure(Usage, "outputs '" + arrays[0].name + "' (" +
                               mpc::npz::typeText(arrays[0]) + ") and '" +
                               array.name + "' (" + mpc::npz::typeText(array) +
                               ") do not have a row for each sample; choose "
                               "some with --outputs, or write an .npz file");
  return arrays.empty() ? 0 : arrays[0].shape[0];
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

static void writeNpz(const std::string &place, const mpc::npz::Arrays &arrays,
                     const ClassesOfArrays &) {
  try {
    mpc::npz::write(place, arrays);
  } catch (const mpc::npz::FileError &error) {
    throw Failure(InputOutput, error.what());
  }
}

static void writeNpy(const std::string &place, const mpc::npz::Arrays &arrays,
                     const ClassesOfArrays &) {
  if (arrays.size() != 1)
    throw Failure(Usage, "an .npy file has one array, but there are " +
                             std::to_string(arrays.size()) +
                             " outputs; choose one with --outputs");
  writeFile(place, mpc::npz::formatNpy(arrays[0]));
}

/// The text as a cell of a CSV file, as RFC 4180 describes.
static std::string quotedCell(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos)
    return text;
  std::string result = "\"";
  for (char c : text)
    result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

static void writeCsv(const std::string &place, const mpc::npz::Arrays &arrays,
                     const ClassesOfArrays &classes) {
  const uint64_t samples = samplesOf(arrays);
  std::string text;
  auto add = [&](const std::string &cell, bool isFirst) {
    text += (isFirst ? "" : ",") + quotedCell(cell);
  };
  for (const mpc::npz::Array &array : arrays) {
    if (array.shape.size() > 2)
      throw Failure(Usage, "output '" + array.name + "' (" +
                               mpc::npz::typeText(array) +
                               ") is no column or row of a .csv file; write a "
                               ".jsonl or .npz file");
    const bool isRow = array.shape.size() == 2;
    for (int64_t i = 0; i < (isRow ? array.shape[1] : 1); ++i)
      add(array.name + (isRow ? "_" + std::to_string(i) : ""),
          &array == &arrays[0] && i == 0);
  }
  text += "\n";
  for (uint64_t sample = 0; sample < samples; ++sample) {
    for (const mpc::npz::Array &array : arrays) {
      const uint64_t columns = array.count() / samples;
      for (uint64_t i = 0; i < columns; ++i) {
        const uint64_t index = sample * columns + i;
        const std::string *name = className(array, index, classes);
        add(name ? *name : elementText(array, index),
            &array == &arrays[0] && i == 0);
      }
    }
    text += "\n";
  }
  writeFile(place, text);
}

static std::string jsonText(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

/// The elements from `first` on, of the dimensions from `axis` on, as nested
/// arrays. What is not finite becomes null, which JSON has instead.
static void addNested(const mpc::npz::Array &array, size_t axis, uint64_t first,
                      const ClassesOfArrays &classes, std::string &text) {
  if (axis == array.shape.size()) {
    const std::string *name = className(array, first, classes);
    std::string value = name ? jsonText(*name) : elementText(array, first);
    const bool isFinite =
        name || value.find_first_of("nf") == std::string::npos;
    text += isFinite ? value : "null";
    return;
  }
  uint64_t size = 1;
  for (size_t i = axis + 1; i < array.shape.size(); ++i)
    size *= array.shape[i];
  text += "[";
  for (int64_t i = 0; i < array.shape[axis]; ++i) {
    text += i > 0 ? "," : "";
    addNested(array, axis + 1, first + i * size, classes, text);
  }
  text += "]";
}

static void writeJsonLines(const std::string &place,
                           const mpc::npz::Arrays &arrays,
                           const ClassesOfArrays &classes) {
  const uint64_t samples = samplesOf(arrays);
  std::string text;
  for (uint64_t sample = 0; sample < samples; ++sample) {
    for (const mpc::npz::Array &array : arrays) {
      text += (&array == &arrays[0] ? "{" : ",") + jsonText(array.name) + ":";
      addNested(array, 1, sample * (array.count() / samples), classes, text);
    }
    text += "}\n";
  }
  writeFile(place, text);
}

static void writeParquet(const std::string &place,
                         const mpc::npz::Arrays &arrays,
                         const ClassesOfArrays &classes) {
  (void)samplesOf(arrays); // Throws if there are no rows.
  std::map<std::string, std::vector<std::string>> texts;
  for (const mpc::npz::Array &array : arrays) {
    if (!classes.count(array.name) || array.dtype != "int64")
      continue;
    std::vector<std::string> &names = texts[array.name];
    for (uint64_t i = 0; i < array.count(); ++i) {
      const std::string *name = className(array, i, classes);
      names.push_back(name ? *name : elementText(array, i));
    }
  }
  writeFile(place, formatParquet(place, arrays, texts));
}

namespace {
struct PredictionFormat {
  const char *extension;
  void (*write)(const std::string &, const mpc::npz::Arrays &,
                const ClassesOfArrays &);
};
} // namespace

static const PredictionFormat kPredictionFormats[] = {
    {".npz", writeNpz},
    {".npy", writeNpy},
    {".csv", writeCsv},
    {".jsonl", writeJsonLines},
    {".parquet", writeParquet}};

static const PredictionFormat *findFormatOf(const std::string &output) {
  std::string extension = std::filesystem::path(output).extension().string();
  if (extension.empty())
    return &kPredictionFormats[0];
  for (const PredictionFormat &format : kPredictionFormats)
    if (extension == format.extension)
      return &format;
  return nullptr;
}

void mpc::tool::checkPredictionFile(const std::string &output) {
  const PredictionFormat *format = findFormatOf(output);
  if (!format)
    throw Failure(Usage, "--output='" + output +
                             "': predictions are written as .npz, .npy, .csv, "
                             ".jsonl or .parquet; choose a name that ends in "
                             "one of these");
  if (format->write == writeParquet)
    requireArrow("writing '" + output + "'");
}

void mpc::tool::writePredictions(const std::string &output,
                                 const std::string &place,
                                 const npz::Arrays &arrays,
                                 const ClassesOfArrays &classes) {
  findFormatOf(output)->write(place, arrays, classes);
}
