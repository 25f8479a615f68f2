//===- control.cpp - Samples of sequences and of control flow -------------===//

#include "test/gradients/samples/samples.h"

namespace mpc::test {

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// Tensors of the same shape, except for dimension `axis` if it is not
/// negative.
static std::vector<std::string> elements(SampleBuilder &s, Shape shape,
                                         int64_t axis) {
  std::vector<std::string> result;
  int64_t count = s.from(1, 3);
  for (const char *name : {"a", "b", "c"}) {
    if (int64_t(result.size()) == count)
      break;
    result.push_back(s.parameter(name, shape));
    if (axis >= 0)
      shape[axis] = s.from(1, 4);
  }
  return result;
}

static std::string construct(SampleBuilder &s,
                             const std::vector<std::string> &tensors) {
  std::string text;
  for (const std::string &tensor : tensors)
    text += (text.empty() ? "" : ", ") + tensor;
  return s.let("SequenceConstruct (" + text + ")");
}

static std::string at(SampleBuilder &s, const std::string &sequence,
                      int64_t place) {
  return s.let("SequenceAt (" + sequence + ", " + s.scalar(place) + ")");
}

/// Uses all elements of a sequence.
static void useAll(SampleBuilder &s, const std::string &sequence,
                   int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::string element = at(s, sequence, i);
    s.use(s.let("Mul (" + element + ", " + element + ")"));
  }
}

static void drawSplitToSequence(SampleBuilder &s) {
  Shape shape = s.shape(1, 4, 60);
  int64_t axis = s.axis(shape);
  int64_t extent = shape[axis < 0 ? axis + int64_t(shape.size()) : axis];
  int form = s.cycle({0, 1, 2});
  std::string x = s.parameter("x", shape), parts;
  int64_t count = extent;
  if (form == 1) {
    int64_t each = s.from(1, extent);
    parts = s.scalar(each);
    count = (extent + each - 1) / each;
  } else if (form == 2) {
    int64_t first = s.from(1, extent);
    count = first == extent ? 1 : 2;
    parts = s.ints(count == 1 ? Shape{extent} : Shape{first, extent - first});
  } else if (s.cycle()) {
    s.attribute("keepdims", 0);
  }
  s.attribute("axis", axis);
  s.apply({x, parts});
  useAll(s, "y0", std::min<int64_t>(count, 4));
}

static void drawSequenceAt(SampleBuilder &s) {
  auto tensors = elements(s, s.shape(0, 4, 40), -1);
  auto count = int64_t(tensors.size());
  std::string sequence = construct(s, tensors);
  s.apply({sequence, s.scalar(s.from(-count, count - 1))});
  s.use(s.let("Mul (y0, " + tensors[0] + ")"));
}

static void drawSequenceConstruct(SampleBuilder &s) {
  auto tensors = elements(s, s.shape(0, 4, 40), -1);
  s.apply(tensors);
  useAll(s, "y0", int64_t(tensors.size()));
}

static void drawSequenceInsert(SampleBuilder &s) {
  Shape shape = s.shape(0, 4, 40);
  auto tensors = elements(s, shape, -1);
  auto count = int64_t(tensors.size());
  std::string x = s.parameter("x", shape), sequence = construct(s, tensors);
  s.apply({sequence, x, s.cycle() ? s.scalar(s.from(-count, count)) : ""});
  useAll(s, "y0", count + 1);
}

static void drawSequenceErase(SampleBuilder &s) {
  Shape shape = s.shape(0, 4, 40);
  auto tensors = elements(s, shape, -1);
  tensors.push_back(s.parameter("x", shape));
  auto count = int64_t(tensors.size());
  std::string sequence = construct(s, tensors);
  s.apply({sequence, s.cycle() ? s.scalar(s.from(-count, count - 1)) : ""});
  useAll(s, "y0", count - 1);
}

static void drawConcatFromSequence(SampleBuilder &s) {
  Shape shape = s.shape(1, 4, 40);
  auto rank = int64_t(shape.size());
  bool isNew = s.cycle();
  int64_t axis = s.axisOf(isNew ? rank + 1 : rank);
  auto tensors = elements(s, shape, isNew ? -1 : axis < 0 ? axis + rank : axis);
  s.attribute("axis", axis);
  if (isNew)
    s.attribute("new_axis", 1);
  s.apply({construct(s, tensors)});
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static std::string typed(const Shape &shape, const std::string &name) {
  std::string extents;
  for (int64_t extent : shape)
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  return "float" + (extents.empty() ? "" : "[" + extents + "]") + " " + name;
}

/// Conditions that are constants or data.
static void drawIf(SampleBuilder &s) {
  Shape shape = s.shape(0, 4, 40);
  std::string a = s.parameter("a", shape), b = s.parameter("b", shape);
  std::string condition;
  if (s.cycle()) {
    condition = s.tensor("bool", {s.cycle({0, 1})}, {});
  } else {
    std::string chosen = s.labels({s.cycle({1, 0})}, {});
    condition = s.let("Cast <to = 9> (" + chosen + ")");
  }
  s.write("y0 = If (" + condition + ") <then_branch = yes () => (" +
          typed(shape, "p") + ") { p = Mul (a, b) }, else_branch = no () => (" +
          typed(shape, "q") + ") { q = Sub (a, b) }>");
}

/// A loop with a carried state and scan outputs.
static void drawLoop(SampleBuilder &s) {
  Shape shape = s.shape(0, 3, 20);
  std::string a = s.parameter("a", shape), b = s.parameter("b", shape);
  std::string trips = s.scalar(s.from(1, 4));
  std::string condition = s.cycle() ? s.tensor("bool", {1}, {}) : "";
  s.write("y0, y1 = Loop (" + trips + ", " + condition +
          ", a) <body = trip (int64 i, bool c, " + typed(shape, "h") +
          ") => (bool d, " + typed(shape, "n") + ", " + typed(shape, "m") +
          ") { d = Identity (c)\n m = Mul (h, b)\n n = Sub (m, a) }>");
  s.use("y0");
  if (s.cycle())
    s.use("y1");
}

static void drawScan(SampleBuilder &s) {
  Shape shape = s.shape(0, 3, 12), scanned = shape;
  int64_t axis = s.cycle() ? s.from(0, shape.size()) : 0;
  scanned.insert(scanned.begin() + axis, s.from(1, 4));
  s.parameter("a", shape);
  s.parameter("x", scanned);
  std::string attributes = "num_scan_inputs = 1";
  auto add = [&](const std::string &name, int64_t value) {
    attributes += ", " + name + " = [" + std::to_string(value) + "]";
  };
  if (axis)
    add("scan_input_axes", axis);
  if (s.cycle())
    add("scan_input_directions", 1);
  if (s.cycle())
    add("scan_output_directions", 1);
  if (s.cycle())
    add("scan_output_axes", s.axisOf(int64_t(shape.size()) + 1));
  s.write("y0, y1 = Scan (a, x) <" + attributes + ", body = trip (" +
          typed(shape, "h") + ", " + typed(shape, "p") + ") => (" +
          typed(shape, "n") + ", " + typed(shape, "m") +
          ") { m = Mul (h, p)\n n = Add (m, p) }>");
  s.use("y0");
  s.use("y1");
}

std::vector<SampledOp> controlSamples() {
  return {
      {"SplitToSequence", "x", drawSplitToSequence},
      {"SequenceAt", "a b c", drawSequenceAt},
      {"SequenceConstruct", "a b c", drawSequenceConstruct},
      {"SequenceInsert", "a b c x", drawSequenceInsert},
      {"SequenceErase", "a b c x", drawSequenceErase},
      {"ConcatFromSequence", "a b c", drawConcatFromSequence},
      {"If", "a b", drawIf},
      {"Loop", "a b", drawLoop},
      {"Scan", "a x", drawScan},
  };
}

} // namespace mpc::test
