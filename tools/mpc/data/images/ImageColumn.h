//===- ImageColumn.h - Images that are decoded for a batch ------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_IMAGES_IMAGECOLUMN_H
#define MPC_TOOLS_MPC_DATA_IMAGES_IMAGECOLUMN_H

#include "tools/mpc/data/Column.h"
#include "tools/mpc/data/augment/Augmentation.h"
#include "tools/mpc/data/augment/Draws.h"
#include "tools/mpc/data/images/ImageLayout.h"

#include <memory>
#include <string>
#include <vector>

namespace mpc::tool {

/// Images of any size in files: the middle of each, or a random part for
/// training, is resized to the input. f32 values are in [0, 1] before they are
/// scaled and normalized; u8 values are rounded.
class ImageColumn : public Column {
public:
  ImageColumn(const Binding &input, const ImageLayout &layout,
              std::string folder,
              std::shared_ptr<const std::vector<std::string>> files,
              Scaling scaling, Augmentation augmentation);

  uint64_t numSamples() const override { return files->size(); }
  /// Decodes on all cores.
  void gather(const SampleBatch &rows, char *batch) const override;
  bool isSlow() const override { return true; }
  std::string fingerprint() const override;

private:
  /// Decodes an image, and augments it if there are draws.
  void decode(uint64_t row, const Draws *draws, char *to) const;

  const ImageLayout layout;
  const std::string folder;
  const std::shared_ptr<const std::vector<std::string>> files;
  const Scaling scaling;
  const Augmentation augmentation;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_IMAGES_IMAGECOLUMN_H
