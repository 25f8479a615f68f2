//===- AugmentedColumn.h - Images of an array, augmented --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_AUGMENT_AUGMENTEDCOLUMN_H
#define MPC_TOOLS_MPC_DATA_AUGMENT_AUGMENTEDCOLUMN_H

#include "tools/mpc/data/Column.h"
#include "tools/mpc/data/augment/Augmentation.h"
#include "tools/mpc/data/images/ImageLayout.h"

#include <memory>

namespace mpc::tool {

/// Changes the pixels of another column, whose input takes images.
class AugmentedColumn : public Column {
public:
  AugmentedColumn(std::shared_ptr<const Column> images, Augmentation what)
      : Column(images->input), images(std::move(images)),
        layout(*ImageLayout::of(input)), augmentation(std::move(what)) {}

  void gather(const SampleBatch &batch, char *to) const override;
  /// So that a thread augments the next batch.
  bool isSlow() const override { return true; }

  uint64_t numSamples() const override { return images->numSamples(); }
  void prefetch(const SampleBatch &batch) const override {
    images->prefetch(batch);
  }
  bool ignores(uint64_t row) const override { return images->ignores(row); }
  std::string findNonFinite(const std::vector<uint64_t> &rows,
                            bool infinite) const override {
    return images->findNonFinite(rows, infinite);
  }
  std::string fingerprint() const override { return images->fingerprint(); }

private:
  const std::shared_ptr<const Column> images;
  const ImageLayout layout;
  const Augmentation augmentation;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_AUGMENT_AUGMENTEDCOLUMN_H
