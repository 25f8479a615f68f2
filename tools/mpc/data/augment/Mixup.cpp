//===- Mixup.cpp - Mix the samples of a batch -----------------------------===//

#include "tools/mpc/data/augment/Mixup.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/data/BindArrays.h"

#include <cmath>

using namespace mpc::tool;

/// Jöhnk's method. It needs about two tries for an alpha of 1, and 70 for 4.
double mpc::tool::drawBeta(Draws &draws, double alpha) {
  while (true) {
    const double x = std::pow(draws.unit(), 1 / alpha);
    const double y = std::pow(draws.unit(), 1 / alpha);
    if (x + y > 0 && x + y <= 1)
      return x / (x + y);
  }
}

void MixedColumn::gather(const SampleBatch &batch, char *to) const {
  original->gather(batch, to);
  if (!batch.isAugmented())
    return;
  // The first sample stands for the batch, whose samples have any order.
  Draws draws(batch.seed, batch.passes[0], batch.samples[0]);
  draws.begin(Draws::Mixup);
  const float own = static_cast<float>(drawBeta(draws, alpha));
  const float other = 1 - own;
  const size_t rows = batch.samples.size();
  size_t size = 1;
  for (size_t i = 1; i < input.shape.size(); ++i)
    size *= static_cast<size_t>(input.shape[i]);
  float *values = reinterpret_cast<float *>(to);
  const std::vector<float> last(values + (rows - 1) * size,
                                values + rows * size);
  for (size_t row = rows; row-- > 0;) {
    float *mixed = values + row * size;
    const float *before = row > 0 ? mixed - size : last.data();
    for (size_t i = 0; i < size; ++i)
      mixed[i] = own * mixed[i] + other * before[i];
  }
}

void mpc::tool::requireMixable(const std::string &option,
                               const std::vector<Binding> &inputs) {
  for (const Binding &input : inputs) {
    if (input.batchDim < 0 ||
        (input.batchDim == 0 && input.dtype == MPC_DTYPE_F32))
      continue;
    std::string why = option + " mixes the samples of a batch, but '" +
                      input.name + "' (" + expectedType(input) + ")";
    if (input.name == "labels")
      why += " are class numbers, which cannot be mixed; compile with "
             "--loss=kl, whose targets are probabilities of classes, and train "
             "with --map targets=labels, which makes one-hot rows of them";
    else if (input.batchDim > 0)
      why += " does not have the samples in its first dimension";
    else
      why += " is not float32";
    throw Failure(Usage, why);
  }
}
