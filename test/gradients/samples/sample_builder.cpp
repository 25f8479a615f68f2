//===- sample_builder.cpp - One op with random shapes and attributes ------===//

#include "test/gradients/samples/sample_builder.h"

#include "compiler/Import/Graph/OpTable.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mpc::test {

Model Sample::model() const {
  Model model = {name.c_str(), parameters.c_str(), nodes.c_str(), nullptr};
  model.labels = labels;
  model.labelShape = labelShape;
  model.opset = opset;
  model.seed = seed;
  return model;
}

int64_t countOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

/// FNV-1a of the name, so that no two ops draw the same numbers.
static uint64_t seedOf(const std::string &op, int number) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : op)
    hash = (hash ^ uint64_t(c)) * 0x100000001b3;
  return hash + 1000 * uint64_t(number);
}

SampleBuilder::SampleBuilder(std::string name, int number)
    : op(std::move(name)), number(number), seed(seedOf(op, number)),
      random(~seed) {
  int64_t first = std::max(kOldestOpset, firstOpset(op));
  opset = int(from(first, kNewestOpset));
}

//===----------------------------------------------------------------------===//
// Draws
//===----------------------------------------------------------------------===//

int64_t SampleBuilder::from(int64_t low, int64_t high) {
  return low + int64_t(random.next() * double(high - low + 1));
}

double SampleBuilder::real(double low, double high) {
  return std::round((low + (high - low) * random.next()) * 1e3) / 1e3;
}

size_t SampleBuilder::nextInCycle(size_t count) {
  // A round of samples takes each value once, starting from a random one, so
  // that the values of several calls are combined in all ways.
  uint64_t round = uint64_t(number) / count, call = numCycles++;
  double chance = Random(seedOf(op, 0) + (call << 32) + round).next();
  size_t begin = round == 0 ? 0 : size_t(chance * double(count));
  return (size_t(number) + begin) % count;
}

Shape SampleBuilder::shape(int64_t lowRank, int64_t highRank, int64_t most) {
  Shape result = list(from(lowRank, highRank), 1, 7);
  for (int64_t &extent : result)
    if (oneIn(8))
      extent = 1;
  size_t longOne = result.size();
  if (!result.empty() && oneIn(6)) {
    longOne = size_t(from(0, int64_t(result.size()) - 1));
    result[longOne] = oneIn(2) ? 17 : 33;
  }
  while (countOf(result) > most) {
    auto dim = size_t(from(0, int64_t(result.size()) - 1));
    bool mayShrink = result[dim] > 1 && (dim != longOne || oneIn(20));
    result[dim] -= mayShrink;
  }
  return result;
}

Shape SampleBuilder::broadcasting(const Shape &to) {
  Shape result = to;
  if (oneIn(3))
    result.erase(result.begin(),
                 result.begin() + from(0, int64_t(result.size())));
  for (int64_t &extent : result)
    if (oneIn(3))
      extent = 1;
  return result;
}

Shape SampleBuilder::permutation(int64_t count) {
  Shape result(count);
  std::iota(result.begin(), result.end(), 0);
  for (int64_t i = count - 1; i > 0; --i)
    std::swap(result[i], result[from(0, i)]);
  return result;
}

Shape SampleBuilder::axes(int64_t rank, int64_t count) {
  Shape result = permutation(rank);
  result.resize(count);
  for (int64_t &axis : result)
    if (oneIn(3))
      axis -= rank;
  return result;
}

Shape SampleBuilder::list(int64_t count, int64_t low, int64_t high) {
  Shape result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(from(low, high));
  return result;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string joined(const std::vector<std::string> &words,
                          const char *separator = ", ") {
  std::string text;
  for (const std::string &word : words)
    text += (&word == words.data() ? "" : separator) + word;
  return text;
}

template <typename T> static std::string numbers(const std::vector<T> &values) {
  std::vector<std::string> words;
  for (T value : values)
    words.push_back(std::to_string(value));
  return joined(words);
}

std::string SampleBuilder::listText(const Shape &values) {
  return "[" + numbers(values) + "]";
}

static std::string extentsText(const Shape &shape) {
  std::vector<std::string> words;
  for (int64_t extent : shape)
    words.push_back(std::to_string(extent));
  return "[" + joined(words, ",") + "]";
}

std::string SampleBuilder::parameter(const std::string &name,
                                     const Shape &shape, Range range,
                                     const Values &kinks) {
  parameters += (parameters.empty() ? "" : " ") + name + extentsText(shape) +
                ":" + std::to_string(range.low) + ".." +
                std::to_string(range.high);
  for (double kink : kinks)
    parameters += "~" + std::to_string(kink);
  return name;
}

std::string SampleBuilder::let(const std::string &expression) {
  std::string name = "t" + std::to_string(names++);
  write(name + " = " + expression);
  return name;
}

std::string SampleBuilder::scalar(int64_t value) {
  return let("Constant <value_int = " + std::to_string(value) + "> ()");
}

std::string SampleBuilder::scalar(double value) {
  return let("Constant <value_float = " + std::to_string(value) + "> ()");
}

std::string SampleBuilder::ints(const Shape &values) {
  return tensor("int64", values, {int64_t(values.size())});
}

static std::string constant(const std::string &type, const Shape &shape,
                            const std::string &values) {
  return "Constant <value = " + type +
         (shape.empty() ? "" : extentsText(shape)) + " {" + values + "}> ()";
}

std::string SampleBuilder::tensor(const char *type, const Shape &values,
                                  const Shape &shape) {
  return let(constant(type, shape, numbers(values)));
}

std::string SampleBuilder::floats(const Values &values, const Shape &shape) {
  return let(constant("float", shape, numbers(values)));
}

std::string SampleBuilder::labels(const Shape &values, const Shape &shape) {
  labelValues.assign(values.begin(), values.end());
  labelShape = shape;
  return "labels";
}

std::string SampleBuilder::indices(const Shape &values, const Shape &shape) {
  return cycle() ? labels(values, shape) : tensor("int64", values, shape);
}

void SampleBuilder::attribute(const char *name,
                              const std::vector<std::string> &values) {
  std::vector<std::string> quoted;
  for (const std::string &value : values)
    quoted.push_back('"' + value + '"');
  attributes += (attributes.empty() ? "" : ", ") +
                (name + (" = [" + joined(quoted) + "]"));
}

std::string SampleBuilder::apply(const std::vector<std::string> &inputs,
                                 int outputs) {
  std::vector<std::string> results, given = inputs;
  for (int i = 0; i < outputs; ++i)
    results.push_back("y" + std::to_string(i));
  while (!given.empty() && given.back().empty())
    given.pop_back();
  if (!attributes.empty())
    attributes = "<" + attributes + "> ";
  write(joined(results) + " = " + op + " " + attributes + "(" + joined(given) +
        ")");
  attributes.clear();
  return results[0];
}

/// The loss is the sum of all elements of the used values, each times a
/// different cosine, so that no shapes are needed here.
Sample SampleBuilder::finish() {
  if (used.empty())
    use("y0");
  std::string flat = ints({-1});
  std::vector<std::string> rows;
  for (const std::string &name : used)
    rows.push_back(let("Reshape (" + name + ", " + flat + ")"));
  std::string all = let("Concat <axis = 0> (" + joined(rows) + ")");
  std::string count = let("Size (" + all + ")");
  std::string zero = scalar(int64_t(0)), step = scalar(int64_t(1));
  std::string places = let("Range (" + zero + ", " + count + ", " + step + ")");
  places = let("Cast <to = 1> (" + places + ")");
  std::string angles = let("Mul (" + places + ", " + scalar(1.7) + ")");
  std::string weights = let("Cos (" + angles + ")");
  std::string terms = let("Mul (" + all + ", " + weights + ")");
  write("y = ReduceSum <keepdims = 0> (" + terms + ")");
  return {op + "_" + std::to_string(number),
          parameters,
          nodes,
          labelValues,
          labelShape,
          opset,
          seed};
}

} // namespace mpc::test
