//===- ImageColumn.cpp - Images that are decoded for a batch --------------===//

#include "tools/mpc/data/images/ImageColumn.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/augment/ColorJitter.h"
#include "tools/mpc/data/augment/Pixels.h"
#include "tools/mpc/data/augment/RandomCrop.h"
#include "tools/mpc/data/images/ResizeImage.h"

#include "runtime/src/base/number.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

using namespace mpc::tool;

ImageColumn::ImageColumn(const Binding &input, const ImageLayout &layout,
                         std::string folder,
                         std::shared_ptr<const std::vector<std::string>> files,
                         Scaling scaling, Augmentation augmentation)
    : Column(input), layout(layout), folder(std::move(folder)),
      files(std::move(files)), scaling(std::move(scaling)),
      augmentation(std::move(augmentation)) {}

void ImageColumn::gather(const SampleBatch &rows, char *batch) const {
  const uint64_t rowBytes = layout.size() * mpc_dtype_size(input.dtype);
  std::atomic<size_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  auto work = [&] {
    for (size_t i; (i = next++) < rows.samples.size();)
      try {
        const uint64_t row = rows.samples[i];
        const Draws draws(rows.seed, rows.isAugmented() ? rows.passes[i] : 0,
                          row);
        decode(row, rows.isAugmented() ? &draws : nullptr,
               batch + i * rowBytes);
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex);
        error = std::current_exception();
        next = rows.samples.size();
      }
  };
  std::vector<std::thread> threads(std::min<size_t>(
      std::thread::hardware_concurrency(), rows.samples.size()));
  for (std::thread &thread : threads)
    thread = std::thread(work);
  for (std::thread &thread : threads)
    thread.join();
  if (error)
    std::rethrow_exception(error);
}

/// Decodes a file, and resizes the middle of the image, or a random part.
static std::vector<float> readPart(const std::string &file,
                                   const ImageLayout &layout,
                                   const std::optional<double> &minScale,
                                   const Draws *draws) {
  if (!draws || !minScale) {
    const Image image = decodeImage(file, layout.channels, [&](ImageSize) {
      return ImageSize{layout.width, layout.height};
    });
    return resize(image, centerOf(image, layout.width, layout.height),
                  layout.width, layout.height);
  }
  Region part;
  ImageSize whole;
  const Image image = decodeImage(file, layout.channels, [&](ImageSize size) {
    whole = size;
    part = drawCrop(*draws, size.width, size.height, *minScale);
    auto least = [](uint64_t wanted, uint64_t extent, double taken) {
      return static_cast<uint64_t>(std::ceil(wanted * extent / taken));
    };
    return ImageSize{least(layout.width, size.width, part.width),
                     least(layout.height, size.height, part.height)};
  });
  const double x = static_cast<double>(image.width) / whole.width,
               y = static_cast<double>(image.height) / whole.height;
  return resize(image,
                {part.left * x, part.top * y, part.width * x, part.height * y},
                layout.width, layout.height);
}

void ImageColumn::decode(uint64_t row, const Draws *draws, char *to) const {
  std::vector<float> pixels =
      readPart((*files)[row], layout, augmentation.crop, draws);
  if (draws && augmentation.color > 0)
    changeColors(pixels, layout.channels,
                 drawColors(*draws, augmentation.color));
  const uint64_t area = layout.height * layout.width;
  const bool isFloat = input.dtype == MPC_DTYPE_F32;
  for (uint64_t c = 0; c < layout.channels; ++c)
    for (uint64_t i = 0; i < area; ++i) {
      const float value = pixels[i * layout.channels + c];
      const uint64_t at =
          layout.isChannelsLast ? i * layout.channels + c : c * area + i;
      if (isFloat) {
        const float scaled = value / 255;
        std::memcpy(to + at * sizeof(scaled), &scaled, sizeof(scaled));
      } else {
        to[at] =
            static_cast<char>(std::lround(std::clamp(value, 0.0f, 255.0f)));
      }
    }
  if (scaling.isGiven())
    scaling.apply(reinterpret_cast<float *>(to), area * layout.channels);
  if (draws)
    augmentPixels(input, layout, augmentation, *draws, to);
}

/// The names and sizes of the files identify them; reading them would take
/// long.
std::string ImageColumn::fingerprint() const {
  std::string all;
  for (const std::string &file : *files) {
    std::error_code error;
    all += file.substr(folder.size()) + " " +
           std::to_string(std::filesystem::file_size(file, error)) + "\n";
  }
  std::vector<int64_t> shape = input.shape;
  shape[0] = static_cast<int64_t>(files->size());
  return formatType(input.dtype, shape) + " " +
         format("%016llx",
                static_cast<unsigned long long>(
                    mpc::runtime::checksum(all.data(), all.size()))) +
         scaling.describe();
}
