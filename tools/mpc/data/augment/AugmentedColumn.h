//===- AugmentedColumn.h - Images of a column, augmented --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_AUGMENT_AUGMENTEDCOLUMN_H
#define MPC_TOOLS_MPC_DATA_AUGMENT_AUGMENTEDCOLUMN_H

#include "tools/mpc/data/augment/Augmentation.h"
#include "tools/mpc/data/augment/DerivedColumn.h"
#include "tools/mpc/data/augment/Draws.h"
#include "tools/mpc/data/images/ImageLayout.h"

namespace mpc::tool {

/// Changes the pixels of another column, whose input takes images.
class AugmentedColumn : public DerivedColumn {
public:
  /// Throws a Failure if colors are to be changed and the range of the values
  /// is not known.
  AugmentedColumn(std::shared_ptr<const Column> images, Augmentation what);

  void gather(const SampleBatch &batch, char *to) const override;
  /// So that a thread augments the next batch.
  bool isSlow() const override { return true; }

private:
  template <typename Value> void changeImage(Value *image, Draws draws) const;

  const ImageLayout layout;
  const Augmentation augmentation;
  float white = 1; ///< Column::findWhite(), if colors are changed.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_AUGMENT_AUGMENTEDCOLUMN_H
