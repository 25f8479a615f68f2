//===- elementwise.cpp - Samples of ops that broadcast --------------------===//

#include "test/gradients/samples/samples.h"

namespace mpc::test {

/// Two operands, either of which may broadcast, or the same operand twice.
static void drawBinary(SampleBuilder &s, Range range) {
  Shape whole = s.shape(0, 5);
  Shape left = s.oneIn(3) ? whole : s.broadcasting(whole);
  Shape right = s.oneIn(3) ? whole : s.broadcasting(whole);
  std::string a = s.parameter("a", left);
  s.apply({a, s.parameter("b", right, range)});
}

static void drawArithmetic(SampleBuilder &s) {
  if (s.number % 7 != 6)
    return drawBinary(s, {});
  std::string a = s.parameter("a", s.shape(0, 5));
  s.apply({a, a});
}

static void drawDiv(SampleBuilder &s) {
  drawBinary(s, s.cycle() ? Range{-2, -0.5} : Range{0.5, 2});
}

static void drawPow(SampleBuilder &s) {
  Shape whole = s.shape(0, 5), shape = s.broadcasting(whole);
  if (s.cycle()) {
    std::string x = s.parameter("x", shape, {0.5, 2});
    Shape by = s.broadcasting(whole);
    std::string e = s.parameter("e", by, {-2, 2});
    // An initializer with one number is an attribute of the op, not a
    // parameter.
    if (countOf(by) == 1)
      e = s.let("Mul (" + e + ", " + s.scalar(1.5) + ")");
    s.apply({x, e});
    return;
  }
  // Also integer powers of negative numbers.
  bool isWhole = s.cycle();
  Range range = isWhole && s.cycle() ? Range{-2, -0.3} : Range{0.3, 2};
  std::string x = s.parameter("x", whole, range);
  Shape by = s.oneIn(2) ? Shape() : s.broadcasting(whole);
  Values exponents(countOf(by));
  for (double &exponent : exponents)
    exponent = isWhole ? double(s.from(-2, 4)) : s.real(-2, 3);
  s.apply({x, s.floats(exponents, by)});
}

/// Quotients that are not near an integer.
static void drawMod(SampleBuilder &s) {
  struct Ranges {
    Range x, d;
  };
  Ranges ranges = s.cycle<Ranges>({{{2.6, 2.9}, {1.5, 1.9}},
                                   {{-2.9, -2.6}, {1.5, 1.9}},
                                   {{7.2, 7.7}, {-2.35, -2.05}},
                                   {{0.1, 0.9}, {1, 3}}});
  Shape whole = s.shape(0, 5);
  s.attribute("fmod", 1);
  std::string x = s.parameter("x", s.broadcasting(whole), ranges.x);
  s.apply({x, s.parameter("d", s.broadcasting(whole), ranges.d)});
}

static void drawWhere(SampleBuilder &s) {
  Shape whole = s.shape(0, 5);
  std::string a = s.parameter("a", s.broadcasting(whole));
  std::string b = s.parameter("b", s.broadcasting(whole));
  Shape shape = s.broadcasting(whole);
  std::string condition =
      s.cycle() ? s.let("Less (" + a + ", " + b + ")")
                : s.tensor("bool", s.list(countOf(shape), 0, 1), shape);
  s.apply({condition, a, b});
}

static void drawPRelu(SampleBuilder &s) {
  Shape shape = s.shape(0, 5);
  std::string x = s.parameter("x", shape, {-2, 2}, {0});
  s.apply({x, s.parameter("s", s.broadcasting(shape))});
}

/// One to four operands.
static void drawVariadic(SampleBuilder &s) {
  int64_t count = s.cycle<int64_t>({3, 2, 1, 4});
  Shape whole = s.shape(0, 5, 60);
  std::vector<std::string> inputs;
  for (const char *name : {"a", "b", "c", "d"})
    if (int64_t(inputs.size()) < count)
      inputs.push_back(s.parameter(name, s.broadcasting(whole)));
  s.apply(inputs);
}

/// Constant and computed bounds.
static void drawClip(SampleBuilder &s) {
  Shape shape = s.shape(0, 5);
  int bounds = s.cycle({3, 1, 2, 0});
  std::string low, high;
  double least = s.real(-1, -0.3), most = s.real(0.3, 1);
  std::string x = s.parameter("x", shape, {-2, 2}, {least, most});
  bool areData = s.cycle();
  auto bound = [&](const char *name, double number) {
    return areData ? s.let("Mul (" + s.parameter(name, {}, {0.7, 1.4}) + ", " +
                           s.scalar(number) + ")")
                   : s.scalar(number);
  };
  if (bounds & 1)
    low = bound("l", least);
  if (bounds & 2)
    high = bound("h", most);
  s.apply({x, low, high});
}

static void drawSwiGlu(SampleBuilder &s) {
  Shape shape = s.shape(0, 5, 60);
  if (s.cycle())
    s.attribute("alpha", s.real(0.5, 2));
  std::string a =
      s.parameter("a", shape, s.cycle() ? Range{-40, 40} : Range{-3, 3});
  s.apply({a, s.parameter("b", shape)});
}

static void drawCast(SampleBuilder &s) {
  std::string x = s.parameter("x", s.shape(0, 5), {-2, 2}, {-1, 0, 1});
  // No gradient flows through integers, but their values matter.
  int through = s.cycle({0, 7, 6, 9});
  std::string from = x;
  if (through)
    from = s.let("Cast <to = " + std::to_string(through) + "> (" + x + ")");
  s.attribute("to", s.cycle({1, 11}));
  s.apply({from});
  s.use(s.let("Mul (y0, " + x + ")"));
}

static void drawCastLike(SampleBuilder &s) {
  std::string x = s.parameter("x", s.shape(0, 5), {-2, 2});
  s.apply({x, s.scalar(1.0)});
}

/// Step functions, as factors.
static void drawSteps(SampleBuilder &s) {
  Range range =
      s.cycle<Range>({{-2.4, 2.4}, {2.1, 2.4}, {-0.4, -0.1}, {30, 40}});
  Values kinks;
  for (double kink = -3; kink <= 41; kink += 0.5)
    if (kink >= range.low && kink <= range.high)
      kinks.push_back(kink);
  std::string x = s.parameter("x", s.shape(0, 5), range, kinks);
  s.apply({x});
  s.use(s.let("Mul (y0, " + x + ")"));
}

static void drawIdentity(SampleBuilder &s) {
  s.apply({s.parameter("x", s.shape(0, 5))});
}

static void drawTrilu(SampleBuilder &s) {
  std::string x = s.parameter("x", s.shape(2, 5));
  if (s.oneIn(2))
    s.attribute("upper", s.cycle({1, 0}));
  s.apply({x, s.cycle() ? s.scalar(s.from(-3, 3)) : ""});
}

std::vector<SampledOp> elementwiseSamples() {
  return {
      {"Add", "a b", drawArithmetic},   {"Sub", "a b", drawArithmetic},
      {"Mul", "a b", drawArithmetic},   {"Div", "a b", drawDiv},
      {"Pow", "x e", drawPow},          {"Mod", "x d", drawMod},
      {"Where", "a b", drawWhere},      {"PRelu", "x s", drawPRelu},
      {"Sum", "a b c d", drawVariadic}, {"Mean", "a b c d", drawVariadic},
      {"Max", "a b c d", drawVariadic}, {"Min", "a b c d", drawVariadic},
      {"Clip", "x l h", drawClip},      {"SwiGLU", "a b", drawSwiGlu},
      {"Cast", "x", drawCast},          {"CastLike", "x", drawCastLike},
      {"Sign", "x", drawSteps},         {"Floor", "x", drawSteps},
      {"Ceil", "x", drawSteps},         {"Round", "x", drawSteps},
      {"Identity", "x", drawIdentity},  {"Trilu", "x", drawTrilu},
  };
}

} // namespace mpc::test
