//===- ImageColumn.cpp - Images that are decoded for a batch --------------===//

#include "tools/mpc/data/images/ImageColumn.h"
#include "tools/mpc/base/Text.h"
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

std::optional<ImageLayout> ImageLayout::of(const Binding &input) {
  const std::vector<int64_t> &shape = input.shape;
  if (shape.size() != 4 || input.batchDim != 0 ||
      (input.dtype != MPC_DTYPE_F32 && input.dtype != MPC_DTYPE_U8))
    return std::nullopt;
  auto isChannels = [&](size_t axis) {
    return shape[axis] == 1 || shape[axis] == 3;
  };
  auto extent = [&](size_t axis) { return static_cast<uint64_t>(shape[axis]); };
  if (isChannels(1))
    return ImageLayout{extent(1), extent(2), extent(3), false};
  if (isChannels(3))
    return ImageLayout{extent(3), extent(1), extent(2), true};
  return std::nullopt;
}

ImageColumn::ImageColumn(const Binding &input, const ImageLayout &layout,
                         std::string folder,
                         std::shared_ptr<const std::vector<std::string>> files,
                         Scaling scaling)
    : Column(input), layout(layout), folder(std::move(folder)),
      files(std::move(files)), scaling(std::move(scaling)) {}

void ImageColumn::gather(const SampleBatch &rows, char *batch) const {
  const uint64_t rowBytes = layout.channels * layout.height * layout.width *
                            mpc_dtype_size(input.dtype);
  std::atomic<size_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  auto work = [&] {
    for (size_t i; (i = next++) < rows.samples.size();)
      try {
        decode(rows.samples[i], batch + i * rowBytes);
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

void ImageColumn::decode(uint64_t row, char *to) const {
  const Image image =
      decodeImage((*files)[row], layout.channels, layout.width, layout.height);
  std::vector<float> pixels =
      resize(image, centerOf(image, layout.width, layout.height), layout.width,
             layout.height);
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
