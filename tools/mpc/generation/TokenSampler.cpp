//===- TokenSampler.cpp - Choose a token from logits ----------------------===//

#include "tools/mpc/generation/TokenSampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mpc::tool;

int64_t TokenSampler::draw(const float *logits, int64_t count) {
  if (settings.temperature == 0)
    return std::max_element(logits, logits + count) - logits;
  auto isBefore = [&](int64_t a, int64_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::vector<int64_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), int64_t(0));
  int64_t kept = count;
  if (settings.topK > 0)
    kept = std::min<uint64_t>(settings.topK, count);
  bool isSorted = settings.topP < 1 || kept < count;
  if (isSorted)
    std::partial_sort(tokens.begin(), tokens.begin() + kept, tokens.end(),
                      isBefore);
  tokens.resize(kept);

  double highest = *std::max_element(logits, logits + count), all = 0;
  std::vector<double> weights(kept);
  for (int64_t i = 0; i < kept; ++i) {
    weights[i] = std::exp((logits[tokens[i]] - highest) / settings.temperature);
    all += weights[i];
  }
  double total = all;
  if (settings.topP < 1) {
    total = 0;
    for (int64_t i = 0; i < kept; ++i) {
      total += weights[i];
      if (total >= settings.topP * all)
        kept = i + 1;
    }
  }
  double unit = double(random() >> 11) * 0x1p-53; // In [0, 1).
  double left = unit * total;
  for (int64_t i = 0; i < kept; ++i)
    if ((left -= weights[i]) < 0)
      return tokens[i];
  return tokens[kept - 1];
}
