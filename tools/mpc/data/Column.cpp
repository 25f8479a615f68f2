//===- Column.cpp - The samples of one input ------------------------------===//

#include "tools/mpc/data/Column.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/BindArrays.h"
#include "tools/mpc/data/augment/Draws.h"

#include "runtime/src/base/number.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mpc::tool;

/// "labels[137]", "tokens[137,5]": the element in NumPy's syntax.
static std::string nameOfElement(const StoredArray &array, uint64_t index) {
  if (array.rowStride)
    return array.name + ": token " + std::to_string(index);
  std::string text = "]";
  for (size_t i = array.shape.size(); i-- > 0;) {
    text = (i > 0 ? "," : "") + std::to_string(index % array.shape[i]) + text;
    index /= array.shape[i];
  }
  return array.shape.empty() ? array.name : array.name + "[" + text;
}

/// Calls `visit` with pieces of `count` elements from `first` on, as values of
/// type `Value`, and the index of the first of each, until it returns false.
template <typename Value, typename Visit>
static void forEachPiece(const StoredArray &array, mpc_dtype_t type,
                         uint64_t first, uint64_t count, Visit visit) {
  constexpr uint64_t piece = 4096;
  std::vector<Value> values(std::min(count, piece));
  Convert convert = findConversion(array.dtype, type);
  const uint64_t size = array.elementSize();
  for (uint64_t at = 0; at < count; at += piece) {
    values.resize(std::min(piece, count - at));
    convert(array.data() + (first + at) * size, values.size(),
            reinterpret_cast<char *>(values.data()));
    if (!visit(values, first + at))
      return;
  }
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

StoredColumn::StoredColumn(const Binding &input, std::vector<StoredArray> parts,
                           Scaling scaling)
    : Column(input), parts(std::move(parts)), scaling(std::move(scaling)) {
  for (size_t i = 0; i < input.shape.size(); ++i) {
    if (static_cast<int64_t>(i) < input.batchDim)
      outer *= input.shape[i];
    else if (static_cast<int64_t>(i) > input.batchDim)
      inner *= input.shape[i];
  }
  for (const StoredArray &array : this->parts) {
    firstRows.push_back(samples);
    sizes.push_back(array.elementSize());
    samples += input.batchDim < 0 ? 1 : array.shape[input.batchDim];
  }
  checkConversions();
  checkValues();
}

/// Throws if a finite number of the array would become infinite in float32.
static void refuseOverflow(const StoredArray &array, const Binding &input) {
  if (array.dtype != "float64" || input.dtype != MPC_DTYPE_F32)
    return;
  for (uint64_t i = 0; i < array.elements.size() / sizeof(double); ++i) {
    double value;
    std::memcpy(&value, array.data() + i * sizeof(value), sizeof(value));
    if (std::isfinite(value) && std::isinf(static_cast<float>(value)))
      throw Failure(Usage, nameOfElement(array, i) + " of " + array.path +
                               format(", %g, is too large for float32", value));
  }
}

void StoredColumn::checkConversions() {
  for (const StoredArray &array : parts) {
    if (array.dtype == numpyName(input.dtype)) {
      converts.push_back(nullptr);
      continue;
    }
    refuseOverflow(array, input);
    Conversion conversion = checkConversion(array, input.dtype);
    if (!conversion.fault.empty())
      throw Failure(Usage, array.path + ": array '" + input.name +
                               "' must be " + expectedType(input) +
                               ", but is " + npz::typeText(array) + " and " +
                               conversion.fault);
    if (!scaling.isGiven())
      remarkText = conversion.remark;
    converts.push_back(findConversion(array.dtype, input.dtype));
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
void StoredColumn::checkValues() const {
  Binding::Range range = {0, 2, std::nullopt};
  if (input.range)
    range = *input.range;
  else if (input.dtype != MPC_DTYPE_BOOL)
    return;
  uint64_t count = 0, wrong = 0, ignored = 0, firstWrong = 0;
  int64_t value = 0;
  const StoredArray *wrongIn = nullptr;
  for (const StoredArray &array : parts) {
    uint64_t elements = array.elements.size() / array.elementSize();
    count += elements;
    forEachPiece<int64_t>(
        array, MPC_DTYPE_I64, 0, elements,
        [&](const std::vector<int64_t> &values, uint64_t first) {
          for (size_t i = 0; i < values.size(); ++i) {
            ignored += values[i] == range.ignored;
            if (range.allows(values[i]) || wrong++ > 0)
              continue;
            wrongIn = &array;
            firstWrong = first + i;
            value = values[i];
          }
          return true;
        });
  }
  if (wrong > 0) {
    std::string message = format(
        "%s: %s is %lld; %s must %s", wrongIn->path.c_str(),
        nameOfElement(*wrongIn, firstWrong).c_str(),
        static_cast<long long>(value),
        input.name == "labels" ? "labels" : "values", textOf(range).c_str());
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
                         parts[0].path.c_str(), input.name.c_str(),
                         static_cast<long long>(*range.ignored)));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

StoredColumn::Place StoredColumn::placeOf(uint64_t row,
                                          uint64_t outerIndex) const {
  size_t part = 0;
  if (parts.size() > 1)
    part = std::upper_bound(firstRows.begin(), firstRows.end(), row) -
           firstRows.begin() - 1;
  const StoredArray &array = parts[part];
  uint64_t rows = input.batchDim < 0 ? 1 : array.shape[input.batchDim];
  return {part, (outerIndex * rows + row - firstRows[part]) *
                    array.rowStride.value_or(inner)};
}

uint64_t StoredColumn::shiftOf(const SampleBatch &batch, size_t index) const {
  if (shiftLimit == 1 || !batch.isAugmented())
    return 0;
  Draws draws(batch.seed, batch.passes[index], /*sample=*/0);
  draws.begin(Draws::Shift);
  return draws.below(shiftLimit);
}

void StoredColumn::gatherUnscaled(const SampleBatch &rows, char *batch) const {
  const uint64_t rowBytes = inner * mpc_dtype_size(input.dtype);
  std::vector<char> buffer;
  char *to = batch;
  for (uint64_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < rows.samples.size(); ++i) {
      Place place = placeOf(rows.samples[i], o);
      place.first += shiftOf(rows, i);
      const uint64_t size = sizes[place.part];
      const char *from = parts[place.part].elements.part(place.first * size,
                                                         inner * size, buffer);
      if (Convert convert = converts[place.part])
        convert(from, inner, to);
      else
        std::memcpy(to, from, rowBytes);
      to += rowBytes;
    }
}

void StoredColumn::scale(char *sample) const {
  if (scaling.isGiven())
    scaling.apply(reinterpret_cast<float *>(sample), inner);
}

void StoredColumn::gather(const SampleBatch &rows, char *batch) const {
  gatherUnscaled(rows, batch);
  const uint64_t rowBytes = inner * mpc_dtype_size(input.dtype);
  for (uint64_t i = 0; i < outer * rows.samples.size(); ++i)
    scale(batch + i * rowBytes);
}

float Column::findWhite(const std::string &option) const {
  if (input.dtype == MPC_DTYPE_U8)
    return 255;
  throw Failure(Usage, option +
                           " requires images of uint8, or of floats that "
                           "are known to be in [0, 1], but those of '" +
                           input.name + "' are read one by one");
}

float StoredColumn::findWhite(const std::string &option) const {
  bool areBytes = true;
  for (const StoredArray &part : parts)
    areBytes &= part.dtype == "uint8";
  if (areBytes)
    return 255;
  for (const StoredArray &part : parts) {
    if (!isFloat(part))
      throw Failure(Usage, option +
                               " requires images of uint8, or of floats "
                               "in [0, 1], but array '" +
                               input.name + "' of " + part.path + " is " +
                               part.dtype);
    forEachPiece<double>(
        part, MPC_DTYPE_F64, 0, part.elements.size() / part.elementSize(),
        [&](const std::vector<double> &values, uint64_t first) {
          for (size_t i = 0; i < values.size(); ++i)
            if (!(values[i] >= 0 && values[i] <= 1))
              throw Failure(
                  Usage,
                  format("%s requires images of uint8, or of floats in [0, 1], "
                         "but %s of %s is %g; use --scale or --normalize "
                         "instead of data that has been scaled",
                         option.c_str(), nameOfElement(part, first + i).c_str(),
                         part.path.c_str(), unsignedNan(values[i])));
          return true;
        });
  }
  return 1;
}

void StoredColumn::prefetch(const SampleBatch &rows) const {
  for (uint64_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < rows.samples.size(); ++i) {
      Place place = placeOf(rows.samples[i], o);
      place.first += shiftOf(rows, i);
      const uint64_t size = sizes[place.part];
      parts[place.part].elements.prefetch(place.first * size, inner * size);
    }
}

bool StoredColumn::isSlow() const {
  return std::any_of(parts.begin(), parts.end(), [](const StoredArray &part) {
    return part.elements.isInFile();
  });
}

bool StoredColumn::ignores(uint64_t row) const {
  if (!input.range || !input.range->ignored || input.batchDim < 0)
    return false;
  bool areAll = true;
  for (uint64_t o = 0; o < outer && areAll; ++o) {
    Place place = placeOf(row, o);
    forEachPiece<int64_t>(parts[place.part], MPC_DTYPE_I64, place.first, inner,
                          [&](const std::vector<int64_t> &values, uint64_t) {
                            for (int64_t value : values)
                              areAll &= value == input.range->ignored;
                            return areAll;
                          });
  }
  return areAll;
}

std::string StoredColumn::findNonFinite(const std::vector<uint64_t> &rows,
                                        bool infinite) const {
  std::string found;
  auto search = [&](uint64_t row, uint64_t outerIndex, uint64_t count) {
    Place place = placeOf(row, outerIndex);
    if (!isFloat(parts[place.part]) || !found.empty())
      return;
    forEachPiece<double>(
        parts[place.part], MPC_DTYPE_F64, place.first, count,
        [&](const std::vector<double> &values, uint64_t first) {
          for (size_t i = 0; i < values.size() && found.empty(); ++i)
            if (infinite ? std::isinf(values[i]) : std::isnan(values[i]))
              found = nameOfElement(parts[place.part], first + i) + " in " +
                      parts[place.part].path;
          return found.empty();
        });
  };
  if (input.batchDim < 0)
    search(0, 0, inner);
  else
    for (uint64_t o = 0; o < outer; ++o)
      for (uint64_t row : rows)
        search(row, o, inner);
  return found;
}

//===----------------------------------------------------------------------===//
// Fingerprints
//===----------------------------------------------------------------------===//

/// A checksum of pieces from all over the data, or of all data if it is small.
static uint64_t sampleChecksum(const Elements &data) {
  constexpr size_t numPieces = 256, pieceBytes = 4096;
  if (data.size() <= numPieces * pieceBytes)
    return mpc::runtime::checksum(data.data(), data.size());
  std::vector<char> pieces;
  for (size_t i = 0; i < numPieces; ++i) {
    // The first piece is at the beginning, the last one at the end.
    size_t first = static_cast<unsigned __int128>(data.size() - pieceBytes) *
                   i / (numPieces - 1);
    pieces.insert(pieces.end(), data.data() + first,
                  data.data() + first + pieceBytes);
  }
  return mpc::runtime::checksum(pieces.data(), pieces.size());
}

std::string StoredColumn::fingerprint() const {
  std::vector<int64_t> shape = parts[0].shape;
  if (input.batchDim >= 0)
    shape[input.batchDim] = static_cast<int64_t>(samples);
  std::vector<uint64_t> sums;
  for (const StoredArray &array : parts)
    sums.push_back(sampleChecksum(array.elements));
  uint64_t sum =
      sums.size() == 1
          ? sums[0]
          : mpc::runtime::checksum(sums.data(), sums.size() * sizeof(sums[0]));
  return formatType(input.dtype, shape) + " " +
         format("%016llx", static_cast<unsigned long long>(sum)) +
         scaling.describe();
}
