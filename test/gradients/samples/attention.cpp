//===- attention.cpp - Samples of attention -------------------------------===//

#include "test/gradients/samples/samples.h"

#include <algorithm>

namespace mpc::test {

namespace {

struct Heads {
  int64_t batch, keyHeads, heads, rows, keys, past, depth, width;
};

} // namespace

/// A mask of bools or floats, with all dimensions or fewer, and all columns or
/// fewer.
static std::string drawMask(SampleBuilder &s, const Heads &h, bool isBool) {
  Shape shape = {h.batch, h.heads, h.rows, h.past + h.keys};
  shape.erase(shape.begin(), shape.begin() + s.from(0, 2));
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    if (s.oneIn(3))
      shape[i] = 1;
  if (s.opset >= 24 && shape.back() > 2 && s.oneIn(2))
    --shape.back(); // Missing columns are masked.
  if (!isBool)
    return s.parameter("m", shape, {-2, 2});
  Shape values = s.list(countOf(shape), 0, 2);
  for (int64_t &value : values)
    value = value > 0;
  return s.tensor("bool", values, shape);
}

/// Whether any score may become infinite.
static bool drawWindow(SampleBuilder &s) {
  bool causal = s.cycle(), left = false, right = false;
  if (causal)
    s.attribute("is_causal", 1);
  if (s.opset >= 25) {
    left = s.cycle();
    right = s.cycle({false, false, true});
    if (left)
      s.attribute("left_window_size", s.from(0, 3));
    if (right)
      s.attribute("right_window_size", s.from(0, 3));
  }
  return causal || left || right;
}

static void drawAttention(SampleBuilder &s) {
  Heads h = {s.from(1, 2), s.from(1, 2), 1, s.from(1, 4), s.from(1, 4), 0,
             s.from(1, 4), s.from(1, 4)};
  h.heads = h.keyHeads * s.cycle<int64_t>({1, 2, 1, 3});
  bool areJoined = s.cycle();
  auto shape = [&](int64_t heads, int64_t length, int64_t depth) {
    return areJoined ? Shape{h.batch, length, heads * depth}
                     : Shape{h.batch, heads, length, depth};
  };
  std::vector<std::string> inputs = {
      s.parameter("q", shape(h.heads, h.rows, h.depth)),
      s.parameter("k", shape(h.keyHeads, h.keys, h.depth)),
      s.parameter("v", shape(h.keyHeads, h.keys, h.width))};
  if (areJoined) {
    s.attribute("q_num_heads", h.heads);
    s.attribute("kv_num_heads", h.keyHeads);
  }
  if (bool hasPast = s.cycle({false, true, false}); hasPast)
    h.past = s.from(1, 3);
  int mask = s.cycle({0, 1, 2, 0});
  inputs.push_back(mask ? drawMask(s, h, mask == 1) : "");
  bool hides = drawWindow(s) || mask == 1 || s.opset >= 24;
  if (h.past) {
    inputs.push_back(s.parameter("c", {h.batch, h.keyHeads, h.past, h.depth}));
    inputs.push_back(s.parameter("d", {h.batch, h.keyHeads, h.past, h.width}));
  } else if (s.opset >= 24 && s.cycle()) {
    inputs.insert(inputs.end(), {"", ""});
    inputs.push_back(s.ints(s.list(h.batch, 1, h.keys)));
  }
  if (s.cycle())
    s.attribute("scale", s.real(0.3, 2));
  if (s.cycle())
    s.attribute("softcap", s.real(0.5, 3));
  // Masked scores are infinite before the softmax.
  int stage = s.cycle({-1, 3, 0, 1, -1, 2});
  if (stage == 2 && hides)
    stage = -1;
  if (stage >= 0)
    s.attribute("qk_matmul_output_mode", stage);
  int outputs = stage >= 0 ? 4 : h.past ? 3 : 1;
  s.apply(inputs, outputs);
  for (int i = 0; i < outputs; ++i)
    s.use("y" + std::to_string(i));
}

/// Heads merged or separate, halves or pairs, all of the vector or a part.
static void drawRotary(SampleBuilder &s) {
  int64_t batch = s.from(1, 2), heads = s.from(1, 3), length = s.from(1, 4);
  int64_t depth = 2 * s.from(1, 3) + (s.number % 4 == 3);
  int64_t turned = 2 * s.from(1, depth / 2);
  bool areJoined = s.cycle();
  if (turned != depth)
    s.attribute("rotary_embedding_dim", turned);
  if (areJoined)
    s.attribute("num_heads", heads);
  if (s.cycle())
    s.attribute("interleaved", 1);
  Shape angles = {batch, length, turned / 2};
  bool hasPositions = s.cycle();
  int64_t known = s.from(1, 5);
  if (hasPositions)
    angles = {known, turned / 2};
  std::string x =
      s.parameter("x", areJoined ? Shape{batch, length, heads * depth}
                                 : Shape{batch, heads, length, depth});
  std::string c = s.parameter("c", angles), sines = s.parameter("s", angles);
  Shape places = s.list(batch * length, 0, known - 1);
  s.apply(
      {x, c, sines, hasPositions ? s.indices(places, {batch, length}) : ""});
}

static void drawLinearAttention(SampleBuilder &s) {
  const char *rule = s.cycle({"linear", "gated", "delta", "gated_delta"});
  std::string name = rule;
  bool isGated = name[0] == 'g', isDelta = name != "linear" && name != "gated";
  int64_t batch = s.from(1, 2), steps = s.from(1, 4), keyHeads = s.from(1, 2);
  int64_t heads = keyHeads * s.from(1, 2), depth = s.from(1, 3);
  int64_t width = s.from(1, 3);
  s.attribute("q_num_heads", heads);
  s.attribute("kv_num_heads", keyHeads);
  if (!(isGated && isDelta) || s.oneIn(2))
    s.attribute("update_rule", rule);
  if (s.cycle())
    s.attribute("scale", s.real(0.3, 2));
  std::vector<std::string> inputs = {
      s.parameter("q", {batch, steps, heads * depth}),
      s.parameter("k", {batch, steps, keyHeads * depth}),
      s.parameter("v", {batch, steps, keyHeads * width})};
  inputs.push_back(s.cycle({true, false, true})
                       ? s.parameter("s", {batch, keyHeads, depth, width})
                       : "");
  int64_t decays = s.cycle() ? keyHeads : keyHeads * depth;
  inputs.push_back(isGated ? s.parameter("d", {batch, steps, decays}, {-1, 0})
                           : "");
  int64_t betas = s.cycle() ? 1 : keyHeads;
  inputs.push_back(isDelta ? s.parameter("b", {batch, steps, betas}, {0, 1})
                           : "");
  s.apply(inputs, 2);
  s.use("y0");
  if (s.cycle())
    s.use("y1");
}

static void drawCausalConv(SampleBuilder &s) {
  int64_t batch = s.from(1, 2), channels = s.from(1, 4), length = s.from(1, 6);
  int64_t size = s.cycle<int64_t>({3, 2, 1, 4});
  const char *activation = s.cycle({"", "silu", "swish", "none"});
  if (*activation)
    s.attribute("activation", activation);
  std::vector<std::string> inputs = {
      s.parameter("x", {batch, channels, length}),
      s.parameter("w", {channels, 1, size}),
      s.cycle({true, false}) ? s.parameter("b", {channels}) : ""};
  if (size > 1 && s.cycle())
    inputs.push_back(s.parameter("s", {batch, channels, size - 1}));
  bool showsState = size > 1 && s.cycle();
  s.apply(inputs, 1 + showsState);
  s.use("y0");
  if (showsState)
    s.use("y1");
}

std::vector<SampledOp> attentionSamples() {
  return {
      {"Attention", "q k v m c d", drawAttention},
      {"RotaryEmbedding", "x c s", drawRotary},
      {"LinearAttention", "q k v s d b", drawLinearAttention},
      {"CausalConvWithState", "x w b s", drawCausalConv},
  };
}

} // namespace mpc::test
