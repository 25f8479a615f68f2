//===- sample_builder.h - Op with random shapes and attributes --*- C++ -*-===//
#ifndef MPC_TEST_GRADIENTS_SAMPLES_SAMPLE_BUILDER_H
#define MPC_TEST_GRADIENTS_SAMPLES_SAMPLE_BUILDER_H

#include "test/gradients/models.h"

#include <initializer_list>
#include <type_traits>

namespace mpc::test {

/// A model that owns its text.
struct Sample {
  std::string name, parameters, nodes;
  Values labels;
  Shape labelShape;
  int opset;
  uint64_t seed;

  /// Valid as long as the sample is.
  Model model() const;
};

struct Range {
  double low = -1, high = 1;
};

/// A sample under construction: draws random numbers, which are the same on
/// every machine, and writes nodes.
class SampleBuilder {
public:
  /// Sample `number` of `op`.
  SampleBuilder(std::string op, int number);

  const std::string op;
  const int number;
  /// Any opset that has the op; samples may depend on it.
  int opset;

  //===--------------------------------------------------------------------===//
  // Draws
  //===--------------------------------------------------------------------===//

  /// An integer from `low` to `high`, inclusive.
  int64_t from(int64_t low, int64_t high);
  bool oneIn(int64_t count) { return from(1, count) == 1; }
  /// A number with three decimals.
  double real(double low, double high);
  /// One of the values, in turn: consecutive samples, as many as there are
  /// values, take all of them, starting with the first.
  template <typename T> T cycle(std::initializer_list<T> values) {
    return values.begin()[nextInCycle(values.size())];
  }
  /// A flag of the op, off in the first sample.
  bool cycle() { return cycle({false, true}); }

  /// Extents from 1 to 7, occasionally 17 or 33; at most `most` elements.
  Shape shape(int64_t lowRank, int64_t highRank, int64_t most = 120);
  /// A shape that broadcasts to `to`: some extents are 1, some leading ones
  /// missing.
  Shape broadcasting(const Shape &to);
  /// An axis, counted from the front or the end.
  int64_t axis(const Shape &shape) { return axisOf(shape.size()); }
  int64_t axisOf(int64_t rank) { return from(-rank, rank - 1); }
  /// `count` different axes.
  Shape axes(int64_t rank, int64_t count);
  Shape permutation(int64_t count);
  /// `count` numbers of `from(low, high)`.
  Shape list(int64_t count, int64_t low, int64_t high);

  //===--------------------------------------------------------------------===//
  // Text
  //===--------------------------------------------------------------------===//

  /// A parameter whose values are not near `kinks`.
  std::string parameter(const std::string &name, const Shape &shape,
                        Range range = {}, const Values &kinks = {});
  /// Names of constants.
  std::string scalar(int64_t value);
  std::string scalar(double value);
  std::string ints(const Shape &values);
  std::string tensor(const char *type, const Shape &values, const Shape &shape);
  std::string floats(const Values &values, const Shape &shape);
  /// The integer input of the model.
  std::string labels(const Shape &values, const Shape &shape);
  /// A constant or the integer input.
  std::string indices(const Shape &values, const Shape &shape);

  /// Adds a node for an expression; returns the name of its result.
  std::string let(const std::string &expression);
  /// Adds a node, including the names of its outputs.
  void write(const std::string &node) { nodes += node + "\n "; }

  /// Adds an attribute for the next apply().
  template <typename T> void attribute(const char *name, const T &value) {
    std::string text;
    if constexpr (std::is_arithmetic_v<T>)
      text = std::is_integral_v<T> ? std::to_string(int64_t(value))
                                   : std::to_string(double(value));
    else if constexpr (std::is_same_v<T, Shape>)
      text = listText(value);
    else
      text = '"' + std::string(value) + '"';
    attributes += (attributes.empty() ? "" : ", ") + (name + (" = " + text));
  }
  void attribute(const char *name, const std::vector<std::string> &values);

  /// Applies the op to inputs, which may be missing (""). Returns the name of
  /// the first output, which the loss depends on unless use() names others.
  /// Further outputs are y1, y2 and so on.
  std::string apply(const std::vector<std::string> &inputs, int outputs = 1);
  void use(const std::string &name) { used.push_back(name); }

  Sample finish();

private:
  size_t nextInCycle(size_t count);
  static std::string listText(const Shape &values);

  const uint64_t seed; ///< Seed of values; numbers drawn here have another.
  Random random;
  uint64_t numCycles = 0;
  int names = 0;
  std::string parameters, nodes, attributes;
  std::vector<std::string> used;
  Values labelValues;
  Shape labelShape;
};

/// The product of extents.
int64_t countOf(const Shape &shape);

} // namespace mpc::test

#endif // MPC_TEST_GRADIENTS_SAMPLES_SAMPLE_BUILDER_H
