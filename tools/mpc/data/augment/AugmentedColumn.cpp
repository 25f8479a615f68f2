//===- AugmentedColumn.cpp - Images of an array, augmented ----------------===//

#include "tools/mpc/data/augment/AugmentedColumn.h"
#include "tools/mpc/data/augment/Pixels.h"

using namespace mpc::tool;

void AugmentedColumn::gather(const SampleBatch &batch, char *to) const {
  images->gather(batch, to);
  if (!batch.isAugmented())
    return;
  const uint64_t bytes = layout.size() * mpc_dtype_size(input.dtype);
  for (size_t i = 0; i < batch.samples.size(); ++i)
    augmentPixels(input, layout, augmentation,
                  Draws(batch.seed, batch.passes[i], batch.samples[i]),
                  to + i * bytes);
}
