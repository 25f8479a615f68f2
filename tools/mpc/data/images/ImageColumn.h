//===- ImageColumn.h - Images that are decoded for a batch ------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_IMAGES_IMAGECOLUMN_H
#define MPC_TOOLS_MPC_DATA_IMAGES_IMAGECOLUMN_H

#include "tools/mpc/data/Column.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// Where the channels of an image input are.
struct ImageLayout {
  uint64_t channels, height, width;
  bool isChannelsLast;

  /// For f32 or u8 inputs of shape [N, C, H, W] or [N, H, W, C], where C is 1
  /// or 3; none for others.
  static std::optional<ImageLayout> of(const Binding &input);
};

/// Images of any size in files: the middle of each is resized to the input. f32
/// values are in [0, 1] before they are scaled and normalized; u8 values are
/// rounded.
class ImageColumn : public Column {
public:
  ImageColumn(const Binding &input, const ImageLayout &layout,
              std::string folder,
              std::shared_ptr<const std::vector<std::string>> files,
              Scaling scaling);

  uint64_t numSamples() const override { return files->size(); }
  /// Decodes on all cores.
  void gather(const SampleBatch &rows, char *batch) const override;
  bool isSlow() const override { return true; }
  std::string fingerprint() const override;

private:
  void decode(uint64_t row, char *to) const;

  const ImageLayout layout;
  const std::string folder;
  const std::shared_ptr<const std::vector<std::string>> files;
  const Scaling scaling;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_IMAGES_IMAGECOLUMN_H
