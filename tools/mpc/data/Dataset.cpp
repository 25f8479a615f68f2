//===- Dataset.cpp - Data for an entry point, in batches ------------------===//

#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/base/Memory.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/BindArrays.h"
#include "tools/mpc/data/augment/AugmentedColumn.h"
#include "tools/mpc/data/augment/Mixup.h"
#include "tools/mpc/data/sources/Files.h"
#include "tools/mpc/data/sources/OneHotColumn.h"
#include "tools/mpc/data/sources/OpenData.h"
#include "tools/mpc/data/sources/TokenWindows.h"
#include "tools/mpc/training/Sampler.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

using namespace mpc::tool;

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

Dataset::Dataset(const DataOptions &options, const std::vector<Binding> &inputs)
    : path(options.path) {
  std::vector<std::string> notes;
  std::unique_ptr<DataSource> source =
      selectArrays(openData(options), options, inputs, notes);
  source = cutWindows(std::move(source), options, inputs, notes);
  bind(*source, options, inputs, notes);
  for (const std::string &text : notes)
    noteOnce(text);
}

Dataset::Dataset(const std::string &path, npz::Arrays arrays,
                 const std::vector<Binding> &inputs,
                 std::vector<std::string> &notes)
    : path(path) {
  bind(*openArrays(path, std::move(arrays)), DataOptions(path), inputs, notes);
}

/// "labels: 3 classes: 'a' is 0, 'b' is 1, ...".
static std::string describeClasses(const std::string &array,
                                   const std::vector<std::string> &classes) {
  constexpr size_t mostNamed = 8;
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(mostNamed, classes.size()); ++i)
    texts.push_back("'" + classes[i] + "' is " + std::to_string(i));
  if (classes.size() > mostNamed)
    texts.push_back(formatCount(classes.size() - mostNamed, "other"));
  return "'" + array + "' has " + formatCount(classes.size()) +
         (classes.size() == 1 ? " class: " : " classes: ") + joinWords(texts);
}

/// Takes the names of the classes whose numbers an array contains.
void Dataset::addClasses(const DataSource &source, const std::string &array,
                         const std::string &input,
                         std::vector<std::string> &notes) {
  std::vector<std::string> classes = source.classesOf(array);
  if (classes.empty())
    return;
  notes.push_back(path + ": " + describeClasses(input, classes));
  classNames[input] = std::move(classes);
}

void Dataset::bind(const DataSource &source, const DataOptions &options,
                   const std::vector<Binding> &inputs,
                   std::vector<std::string> &notes) {
  checkScalingNames(inputs, options.scales, options.normalizations);
  const Augmentation augmentation = parseAugmentation(options.augment);
  augmented = augmentation.describe();
  const Binding *changed = nullptr;
  if (augmentation.changesImages())
    changed = &findAugmented(augmentation, inputs);
  if (augmentation.mixup > 0)
    requireMixable("--augment=" + augmented, inputs);
  // Check all types first: reading may take long.
  std::vector<std::string> arrays;
  std::vector<Scaling> scalings;
  Columns made;
  for (const Binding &input : inputs) {
    scalings.push_back(
        scalingOf(input, options.scales, options.normalizations));
    made.push_back(source.makeColumn(input, scalings.back(), augmentation));
    if (made.back() || options.mappedTo(input.name).size() != 1)
      continue;
    made.back() = makeOneHot(source, input);
    if (made.back()) {
      notes.push_back(path + ": '" + input.name + "' takes '" +
                      options.mappedTo(input.name)[0] + "' as one-hot rows");
      addClasses(source, input.name, input.name, notes);
    }
  }
  if (std::all_of(made.begin(), made.end(),
                  [](const auto &column) { return !column; }))
    requireArrays(source, inputs);
  // Whoever did not say which column has the labels should hear that first.
  if (source.isTable())
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!made[i] &&
          (inputs[i].name == "labels" || inputs[i].name == "targets"))
        (void)findArray(source, inputs[i]);
  for (size_t i = 0; i < inputs.size(); ++i)
    arrays.push_back(made[i] ? "" : findArray(source, inputs[i]));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Binding &input = inputs[i];
    if (made[i]) {
      countSamples(*made[i]);
      columns.push_back(std::move(made[i]));
      continue;
    }
    auto column = std::make_shared<StoredColumn>(
        input, readArray(source, arrays[i], input, notes), scalings[i]);
    countSamples(*column);
    noteConversion(source.header(arrays[i]), input, path, column->remark(),
                   notes);
    addClasses(source, arrays[i], input.name, notes);
    if (&input == changed)
      columns.push_back(
          std::make_shared<AugmentedColumn>(std::move(column), augmentation));
    else
      columns.push_back(std::move(column));
  }
  if (augmentation.mixup > 0)
    for (auto &column : columns)
      if (column->input.batchDim >= 0)
        column = std::make_shared<MixedColumn>(column, augmentation.mixup);
  if (changed || augmentation.mixup > 0)
    notes.push_back(path + ": training samples are augmented with " +
                    augmented);
  prepareTensors();
}

void Dataset::countSamples(const Column &column) {
  const Binding &input = column.input;
  if (input.batchDim < 0)
    return;
  uint64_t count = column.numSamples();
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

void Dataset::prepareTensors() {
  // A model without a batch dimension takes all data at once.
  if (sampleArray.empty())
    samples = batch = 1;
  tensors.clear();
  shapes.clear();
  buffers.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const Binding &input = columns[i]->input;
    std::vector<int64_t> &shape = shapes.emplace_back(input.shape);
    if (input.batchDim >= 0)
      shape[input.batchDim] = static_cast<int64_t>(batch);
    uint64_t bytes = mpc_dtype_size(input.dtype);
    for (int64_t extent : shape)
      bytes *= extent;
    resizeOrThrow(buffers[i], bytes, "a batch of '" + input.name + "'");
    if (input.batchDim < 0)
      columns[i]->gather({{0}, {}, 0}, buffers[i].data());
  }
  // Only now, because `shapes` must not reallocate any more.
  for (size_t i = 0; i < columns.size(); ++i)
    tensors.push_back({sizeof(mpc_tensor_t),
                       columns[i]->input.dtype,
                       static_cast<uint32_t>(shapes[i].size()),
                       shapes[i].data(),
                       buffers[i].data(),
                       {}});
}

void Dataset::setBatchSize(uint64_t size) {
  if (sampleArray.empty() || size == batch)
    return;
  loader.reset(); // Its buffers have another size.
  batch = size;
  prepareTensors();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Dataset::Dataset(const Dataset &whole, std::string path,
                 const std::vector<Binding> &inputs, std::vector<uint64_t> part)
    : path(std::move(path)), augmented(whole.augmented),
      sampleArray(whole.sampleArray), samples(whole.samples),
      part(std::move(part)), batch(whole.batch), classNames(whole.classNames) {
  for (const Binding &input : inputs) {
    auto found = std::find_if(whole.columns.begin(), whole.columns.end(),
                              [&](const auto &column) {
                                return column->input.name == input.name &&
                                       column->input.dtype == input.dtype &&
                                       column->input.shape == input.shape;
                              });
    if (found == whole.columns.end())
      throw Failure(Usage, whole.path + ": the data has no array '" +
                               input.name + "' as this entry point takes it");
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
  return std::unique_ptr<Dataset>(
      new Dataset(*this, path + " (held out)", inputs, sorted(0, count)));
}

std::unique_ptr<Dataset>
Dataset::view(const std::vector<Binding> &inputs) const {
  return std::unique_ptr<Dataset>(new Dataset(*this, path, inputs, part));
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

std::vector<uint64_t>
Dataset::rowsOf(const std::vector<uint64_t> &indices) const {
  std::vector<uint64_t> rows = indices;
  if (!part.empty())
    for (uint64_t &row : rows)
      row = part[row];
  return rows;
}

SampleBatch Dataset::rowsOfBatch(const SampleBatch &samples) const {
  SampleBatch rows = {rowsOf(samples.samples), samples.passes, samples.seed};
  rows.samples.resize(batch, rows.samples.back());
  if (rows.isAugmented())
    rows.passes.resize(batch, rows.passes.back());
  return rows;
}

const std::vector<mpc_tensor_t> &
Dataset::gather(const std::vector<uint64_t> &indices) {
  return gather(SampleBatch{indices, {}, 0});
}

const std::vector<mpc_tensor_t> &Dataset::gather(const SampleBatch &samples) {
  assert(!samples.samples.empty() && samples.samples.size() <= batch &&
         "not one batch");
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const SampleBatch rows = rowsOfBatch(samples);
  if (!loader || !loader->take(rows, buffers))
    gatherRows(columns, rows, buffers);
  for (size_t i = 0; i < buffers.size(); ++i)
    tensors[i].data = buffers[i].data();
  waited += std::chrono::duration<double>(Clock::now() - begin).count();
  return tensors;
}

/// Fills the rows from `first` on of a tensor [outer, rows, inner].
template <typename T>
static void fillRowsOf(char *tensor, uint64_t outer, uint64_t rows,
                       uint64_t inner, uint64_t first, T value) {
  T *elements = reinterpret_cast<T *>(tensor);
  for (uint64_t i = 0; i < outer; ++i)
    std::fill(elements + (i * rows + first) * inner,
              elements + (i + 1) * rows * inner, value);
}

void Dataset::fillRows(size_t input, uint64_t first, double value) {
  const Binding &binding = columns[input]->input;
  uint64_t outer = 1, inner = 1;
  for (int64_t dim = 0; dim < int64_t(binding.shape.size()); ++dim)
    if (dim != binding.batchDim)
      (dim < binding.batchDim ? outer : inner) *= binding.shape[dim];
  auto fill = [&](auto element) {
    fillRowsOf<decltype(element)>(buffers[input].data(), outer, batch, inner,
                                  first, static_cast<decltype(element)>(value));
  };
  switch (binding.dtype) {
  case MPC_DTYPE_I64:
    return fill(int64_t());
  case MPC_DTYPE_I32:
    return fill(int32_t());
  case MPC_DTYPE_F32:
    return fill(float());
  case MPC_DTYPE_F64:
    return fill(double());
  default:
    throw Failure(Error, "input '" + binding.name + "' is " +
                             mpc_dtype_name(binding.dtype));
  }
}

void Dataset::prefetch(const std::vector<uint64_t> &indices) {
  prefetch(SampleBatch{indices, {}, 0});
}

void Dataset::prefetch(const SampleBatch &samples) {
  if (samples.samples.empty())
    return;
  if (!loader &&
      std::any_of(columns.begin(), columns.end(),
                  [](const auto &column) { return column->isSlow(); }))
    loader = std::make_unique<BatchLoader>(columns, buffers);
  if (loader)
    loader->start(rowsOfBatch(samples));
}

std::string
Dataset::explainNoLabels(const std::vector<uint64_t> &indices) const {
  constexpr size_t mostNamed = 4;
  const std::vector<uint64_t> rows = rowsOf(indices);
  for (const auto &column : columns) {
    if (!std::all_of(rows.begin(), rows.end(),
                     [&](uint64_t row) { return column->ignores(row); }))
      continue;
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(rows.size(), mostNamed); ++i)
      names.push_back(std::to_string(rows[i]));
    if (rows.size() > mostNamed)
      names.push_back(formatCount(rows.size() - mostNamed, "other"));
    return format("no label of the batch counts: '%s' is %lld, which the loss "
                  "ignores, for samples %s of %s; leave out what has no label, "
                  "or compile with a larger --batch",
                  column->input.name.c_str(),
                  static_cast<long long>(*column->input.range->ignored),
                  joinWords(names).c_str(), path.c_str());
  }
  return "";
}

std::string
Dataset::explainNonFinite(const std::vector<uint64_t> &indices) const {
  const std::vector<uint64_t> rows = rowsOf(indices);
  for (bool infinite : {false, true})
    for (const auto &column : columns)
      if (std::string place = column->findNonFinite(rows, infinite);
          !place.empty())
        return place + (infinite ? " is inf" : " is nan") +
               "; fix or remove such samples";
  return "";
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// Whether an input takes one class number for each sample.
static bool takesClasses(const Binding &input) {
  int64_t count = 1;
  for (int64_t extent : input.shape)
    count *= extent;
  return input.name == "labels" && input.batchDim == 0 &&
         count == input.shape[0] &&
         (input.dtype == MPC_DTYPE_I64 || input.dtype == MPC_DTYPE_I32);
}

template <typename T>
static T elementAt(const std::vector<char> &bytes, size_t index) {
  T value;
  std::memcpy(&value, &bytes[index * sizeof(T)], sizeof(T));
  return value;
}

std::map<int64_t, std::vector<uint64_t>> Dataset::membersOfClasses() const {
  auto found =
      std::find_if(columns.begin(), columns.end(), [](const auto &column) {
        return takesClasses(column->input);
      });
  if (found == columns.end())
    throw Failure(Usage, "--sampling=balanced requires an input 'labels' with "
                         "one class number for each sample, which the model "
                         "does not take");
  const Column &labels = **found;
  const uint64_t size = mpc_dtype_size(labels.input.dtype);
  constexpr uint64_t piece = 4096;
  std::map<int64_t, std::vector<uint64_t>> members;
  for (uint64_t first = 0; first < numSamples(); first += piece) {
    const SampleBatch rows = {
        rowsOf(batchAt(first, piece, numSamples())), {}, 0};
    std::vector<char> values(rows.samples.size() * size);
    labels.gather(rows, values.data());
    for (size_t i = 0; i < rows.samples.size(); ++i) {
      int64_t number = size == 4 ? elementAt<int32_t>(values, i)
                                 : elementAt<int64_t>(values, i);
      if (!labels.input.range || number != labels.input.range->ignored)
        members[number].push_back(first + i);
    }
  }
  return members;
}

//===----------------------------------------------------------------------===//
// Fingerprints
//===----------------------------------------------------------------------===//

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
  if (print.empty())
    for (const auto &column : columns)
      print +=
          printable(column->input.name) + "\t" + column->fingerprint() + "\n";
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
