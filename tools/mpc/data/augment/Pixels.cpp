//===- Pixels.cpp - Changes of the pixels of an image ---------------------===//

#include "tools/mpc/data/augment/Pixels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

using namespace mpc::tool;

/// The index in [0, size) at which a reflected image has the pixel `index`,
/// which may be any.
static int64_t reflect(int64_t index, int64_t size) {
  if (index >= 0 && index < size)
    return index;
  if (size == 1)
    return 0;
  const int64_t period = 2 * (size - 1);
  index = std::abs(index) % period;
  return std::min(index, period - index);
}

//===----------------------------------------------------------------------===//
// Other places
//===----------------------------------------------------------------------===//

Placement::Placement(const ImageLayout &layout)
    : rows(layout.height), columns(layout.width) {
  std::iota(rows.begin(), rows.end(), uint64_t(0));
  std::iota(columns.begin(), columns.end(), uint64_t(0));
}

void Placement::flipRows() { std::reverse(rows.begin(), rows.end()); }
void Placement::flipColumns() { std::reverse(columns.begin(), columns.end()); }

static std::vector<uint64_t> moved(const std::vector<uint64_t> &lines,
                                   int64_t by) {
  std::vector<uint64_t> result(lines.size());
  for (size_t i = 0; i < lines.size(); ++i)
    result[i] = lines[reflect(static_cast<int64_t>(i) + by, lines.size())];
  return result;
}

void Placement::move(int64_t y, int64_t x) {
  rows = moved(rows, y);
  columns = moved(columns, x);
}

template <typename Value>
void mpc::tool::place(Value *image, const ImageLayout &layout,
                      const Placement &placement) {
  const std::vector<Value> before(image, image + layout.size());
  if (layout.isChannelsLast) {
    for (uint64_t y : placement.rows)
      for (uint64_t x : placement.columns)
        for (uint64_t c = 0; c < layout.channels; ++c)
          *image++ = before[layout.at(c, y, x)];
    return;
  }
  for (uint64_t c = 0; c < layout.channels; ++c)
    for (uint64_t y : placement.rows) {
      const Value *row = before.data() + layout.at(c, y, 0);
      for (uint64_t x : placement.columns)
        *image++ = row[x];
    }
}

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

namespace {
/// The two pixels around a coordinate, where the middle of pixel i is at i.
struct Neighbors {
  uint64_t first, second;
  float weight; ///< The weight of the second one.

  Neighbors(double at, uint64_t size) {
    const double low = std::floor(at);
    first = reflect(static_cast<int64_t>(low), size);
    second = reflect(static_cast<int64_t>(low) + 1, size);
    weight = static_cast<float>(at - low);
  }
  float mix(float one, float other) const {
    return one + weight * (other - one);
  }
};
} // namespace

template <typename Value>
void mpc::tool::rotate(Value *image, const ImageLayout &layout,
                       double degrees) {
  const std::vector<Value> before(image, image + layout.size());
  const double angle = degrees * std::acos(-1.0) / 180;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double middleY = (layout.height - 1) / 2.0,
               middleX = (layout.width - 1) / 2.0;
  for (uint64_t y = 0; y < layout.height; ++y)
    for (uint64_t x = 0; x < layout.width; ++x) {
      // The place in the old image is the new one, turned back: clockwise in
      // coordinates whose y points downwards.
      const double right = x - middleX, down = y - middleY;
      const Neighbors columns(middleX + cosine * right - sine * down,
                              layout.width),
          rows(middleY + sine * right + cosine * down, layout.height);
      for (uint64_t c = 0; c < layout.channels; ++c) {
        const float upper =
            columns.mix(before[layout.at(c, rows.first, columns.first)],
                        before[layout.at(c, rows.first, columns.second)]);
        const float lower =
            columns.mix(before[layout.at(c, rows.second, columns.first)],
                        before[layout.at(c, rows.second, columns.second)]);
        const float value = rows.mix(upper, lower);
        image[layout.at(c, y, x)] =
            std::is_integral_v<Value> ? std::lround(value) : value;
      }
    }
}

//===----------------------------------------------------------------------===//
// Cutout
//===----------------------------------------------------------------------===//

template <typename Value>
void mpc::tool::cutOut(Value *image, const ImageLayout &layout, uint64_t size,
                       uint64_t y, uint64_t x) {
  auto begin = [&](uint64_t middle) {
    return middle - std::min(middle, size / 2);
  };
  auto end = [&](uint64_t middle, uint64_t extent) {
    return std::min(middle + size - size / 2, extent);
  };
  for (uint64_t c = 0; c < layout.channels; ++c)
    for (uint64_t row = begin(y); row < end(y, layout.height); ++row)
      for (uint64_t column = begin(x); column < end(x, layout.width); ++column)
        image[layout.at(c, row, column)] = 0;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

template <typename Value>
static void augmentValues(Value *image, const ImageLayout &layout,
                          const Augmentation &augmentation, Draws &draws) {
  if (augmentation.rotate > 0) {
    draws.begin(Draws::Rotate);
    rotate(image, layout,
           draws.between(-augmentation.rotate, augmentation.rotate));
  }
  Placement placement(layout);
  draws.begin(Draws::Flip);
  if (augmentation.flip && draws.below(2))
    placement.flipColumns();
  draws.begin(Draws::FlipRows);
  if (augmentation.flipRows && draws.below(2))
    placement.flipRows();
  if (const int64_t pad = augmentation.pad; pad > 0) {
    draws.begin(Draws::Pad);
    const int64_t y = draws.below(2 * pad + 1), x = draws.below(2 * pad + 1);
    placement.move(y - pad, x - pad);
  }
  if (augmentation.flip || augmentation.flipRows || augmentation.pad > 0)
    place(image, layout, placement);
  if (augmentation.cutout > 0) {
    draws.begin(Draws::Cutout);
    const uint64_t y = draws.below(layout.height),
                   x = draws.below(layout.width);
    cutOut(image, layout, augmentation.cutout, y, x);
  }
}

void mpc::tool::augmentPixels(const Binding &input, const ImageLayout &layout,
                              const Augmentation &augmentation, Draws draws,
                              char *sample) {
  if (input.dtype == MPC_DTYPE_F32)
    augmentValues(reinterpret_cast<float *>(sample), layout, augmentation,
                  draws);
  else
    augmentValues(reinterpret_cast<uint8_t *>(sample), layout, augmentation,
                  draws);
}

#define MPC_FOR_VALUES(Value)                                                  \
  template void mpc::tool::place(Value *, const ImageLayout &,                 \
                                 const Placement &);                           \
  template void mpc::tool::rotate(Value *, const ImageLayout &, double);       \
  template void mpc::tool::cutOut(Value *, const ImageLayout &, uint64_t,      \
                                  uint64_t, uint64_t);
MPC_FOR_VALUES(float)
MPC_FOR_VALUES(uint8_t)
#undef MPC_FOR_VALUES
