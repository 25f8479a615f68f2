//===- sums.cpp - Samples of reductions and products ----------------------===//

#include "test/gradients/samples/samples.h"

namespace mpc::test {

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Some axes, all axes or no axis.
static void reduce(SampleBuilder &s, const std::string &x, int64_t rank) {
  bool areInput = s.op == "ReduceSum" || s.opset >= 18;
  Shape axes = s.axes(rank, s.from(rank > 0, rank));
  int form = s.cycle({0, 0, 1, 0, 2});
  if (s.cycle())
    s.attribute("keepdims", s.cycle({0, 1}));
  if (form == 0 && !axes.empty()) {
    if (areInput)
      return void(s.apply({x, s.ints(axes)}));
    s.attribute("axes", axes);
  } else if (form == 2 && areInput) {
    s.attribute("noop_with_empty_axes", 1);
  }
  s.apply({x});
}

static void drawReduce(SampleBuilder &s, Range range,
                       const Values &kinks = {}) {
  Shape shape = s.shape(0, 5);
  reduce(s, s.parameter("x", shape, range, kinks), int64_t(shape.size()));
}

/// Some factors may be zero.
static void drawReduceProd(SampleBuilder &s) {
  Shape shape = s.shape(0, 5, 60);
  std::string x = s.parameter("x", shape, {-1.5, 1.5});
  if (s.cycle()) {
    Values factors(countOf(shape), 1.0);
    for (int zeros = s.cycle({1, 1, 2}); zeros > 0; --zeros)
      factors[s.from(0, int64_t(factors.size()) - 1)] = 0;
    x = s.let("Mul (" + x + ", " + s.floats(factors, shape) + ")");
  }
  reduce(s, x, int64_t(shape.size()));
}

static void drawReduceLogSumExp(SampleBuilder &s) {
  drawReduce(s, s.cycle<Range>({{-3, 3}, {30, 1e4}, {-1e4, -30}, {-1e4, 1e4}}));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Occasionally longer than a vector.
static int64_t extent(SampleBuilder &s) {
  return s.oneIn(8) ? s.oneIn(2) ? 17 : 33 : s.from(1, 7);
}

static void drawGemm(SampleBuilder &s) {
  int64_t m = s.from(1, 7), n = s.from(1, 7), k = extent(s);
  bool left = s.cycle(), right = s.cycle();
  Shape shape = s.broadcasting({m, n});
  std::string a = s.parameter("a", left ? Shape{k, m} : Shape{m, k});
  std::string b = s.parameter("b", right ? Shape{n, k} : Shape{k, n});
  if (left)
    s.attribute("transA", 1);
  if (right)
    s.attribute("transB", 1);
  if (s.cycle())
    s.attribute("alpha", s.real(-2, 2));
  if (s.cycle())
    s.attribute("beta", s.real(-2, 2));
  s.apply({a, b, s.cycle({true, true, false}) ? s.parameter("c", shape) : ""});
}

/// Vectors, matrices, and batches that broadcast.
static void drawMatMul(SampleBuilder &s) {
  Shape batch = s.shape(0, 3, 8);
  int64_t m = s.from(1, 5), n = s.from(1, 5), k = extent(s);
  Shape left = s.broadcasting(batch), right = s.broadcasting(batch);
  int form = s.cycle({0, 1, 0, 2, 3});
  left.insert(left.end(), {m, k});
  right.insert(right.end(), {k, n});
  if (form & 1)
    left = {k};
  if (form & 2)
    right = {k};
  std::string a = s.parameter("a", left);
  s.apply({a, s.parameter("b", right)});
}

/// Diagonals, sums, outer products, ellipses, results in another order.
static void drawEinsum(SampleBuilder &s) {
  static const std::vector<const char *> equations = {
      "ij,jk->ik",       "ij->ji",        "ij,ij->",
      "i,j->ij",         "bij,bjk->bik",  "iij->j",
      "ii->i",           "ijk->",         "bqhd,bkhd->bhqk",
      "bhqk,bkhd->bqhd", "...i,ij->...j", "...ij,...jk->...ik",
      "ab,bc,cd->da",    "ij,jk",         "i,i",
      "ijj->ij",         "ab,cb,b->ca",   "i...->...",
      "abc,cd,adb->bd",  "i,ij,j->",      "aab,bcc->ac",
      "...,...->...",    "ij,kj->kij",    "abcd->dbca"};
  std::string equation = equations[size_t(s.number) % equations.size()];
  int64_t extents[26];
  for (int64_t &each : extents)
    each = s.oneIn(5) ? 1 : s.from(1, 5);
  Shape middle = s.shape(0, 2, 6);
  s.attribute("equation", equation.c_str());
  std::vector<std::string> inputs;
  Shape shape;
  std::string left = equation.substr(0, equation.find("->")) + ",";
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] == ',') {
      inputs.push_back(
          s.parameter(std::string(1, char('a' + inputs.size())), shape));
      shape.clear();
    } else if (left[i] == '.') {
      Shape own = s.broadcasting(middle);
      shape.insert(shape.end(), own.begin(), own.end());
      i += 2;
    } else {
      shape.push_back(extents[left[i] - 'a']);
    }
  }
  s.apply(inputs);
}

std::vector<SampledOp> sumSamples() {
  auto in = [](Range range, const Values &kinks = {}) {
    return [range, kinks](SampleBuilder &s) { drawReduce(s, range, kinks); };
  };
  return {
      {"ReduceSum", "x", in({-1, 1})},
      {"ReduceMean", "x", in({-1, 1})},
      {"ReduceMax", "x", in({-1, 1})},
      {"ReduceMin", "x", in({-1, 1})},
      {"ReduceProd", "x", drawReduceProd},
      {"ReduceL1", "x", in({-1, 1}, {0})},
      {"ReduceL2", "x", in({-1, -0.2})},
      {"ReduceSumSquare", "x", in({-1, 1})},
      {"ReduceLogSum", "x", in({0.5, 2})},
      {"ReduceLogSumExp", "x", drawReduceLogSumExp},
      {"Gemm", "a b c", drawGemm},
      {"MatMul", "a b", drawMatMul},
      {"Einsum", "a b c", drawEinsum},
  };
}

} // namespace mpc::test
