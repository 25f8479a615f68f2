//===- ArrowValues.cpp - The values of an Arrow column --------------------===//

#include "tools/mpc/data/arrow/ArrowValues.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"

#include <cstddef>
#include <cstring>

using namespace mpc::tool;

/// Element `index` of a buffer. Buffers of files need not be aligned.
template <typename Element>
static Element elementOf(const ArrowArray &array, int buffer, int64_t index) {
  Element element;
  std::memcpy(&element,
              static_cast<const char *>(array.buffers[buffer]) +
                  index * sizeof(Element),
              sizeof(Element));
  return element;
}

static bool bitOf(const ArrowArray &array, int buffer, int64_t index) {
  return elementOf<uint8_t>(array, buffer, index / 8) >> (index % 8) & 1;
}

/// A text between two offsets.
template <typename Offset>
static std::string textAt(const ArrowArray &array, int64_t index) {
  const Offset begin = elementOf<Offset>(array, 1, index);
  const Offset end = elementOf<Offset>(array, 1, index + 1);
  if (begin == end)
    return "";
  return std::string(static_cast<const char *>(array.buffers[2]) + begin,
                     static_cast<size_t>(end - begin));
}

/// A text of at most 12 bytes is part of its view; a longer one is in one of
/// the buffers that follow the views.
static std::string textOfView(const ArrowArray &array, int64_t index) {
  struct View {
    int32_t size;
    char inlined[4];
    int32_t buffer, offset;
  };
  const View view = elementOf<View>(array, 1, index);
  const char *text =
      view.size <= 12
          ? static_cast<const char *>(array.buffers[1]) + index * sizeof(View) +
                offsetof(View, inlined)
          : static_cast<const char *>(array.buffers[2 + view.buffer]) +
                view.offset;
  return std::string(text, static_cast<size_t>(view.size));
}

/// An index of a dictionary, which is not negative.
static int64_t indexAt(const ArrowArray &array, int64_t bytes, int64_t index) {
  switch (bytes) {
  case 1:
    return elementOf<uint8_t>(array, 1, index);
  case 2:
    return elementOf<uint16_t>(array, 1, index);
  case 4:
    return elementOf<uint32_t>(array, 1, index);
  default:
    return elementOf<int64_t>(array, 1, index);
  }
}

std::string ArrowValues::where() const {
  return format("%s in row %lld (counted from 0)", column.c_str(),
                static_cast<long long>(row));
}

void ArrowValues::requireNoNulls(const ArrowArray &array, int64_t first,
                                 int64_t count) const {
  if (array.null_count == 0 || array.n_buffers == 0 || !array.buffers[0])
    return;
  for (int64_t i = first; i < first + count; ++i)
    if (!bitOf(array, 0, array.offset + i))
      throw Failure(Usage, where() + " is null; fill in or remove such rows");
}

void ArrowValues::visitList(size_t level, size_t depth, const ArrowArray &array,
                            int64_t begin, int64_t end) {
  int64_t &length = lengths[depth];
  if (length == ArrowType::kAnyLength)
    length = end - begin;
  if (length != end - begin)
    throw Failure(Usage,
                  where() + " is a list of " + std::to_string(end - begin) +
                      ", but the first is one of " + std::to_string(length) +
                      "; the lists of a column must have one length");
  visitRange(level + 1, depth + 1, *array.children[0], begin, length);
}

void ArrowValues::visitRange(size_t level, size_t depth,
                             const ArrowArray &array, int64_t first,
                             int64_t count) {
  if (count == 0)
    return;
  requireNoNulls(array, first, count);
  const int64_t begin = array.offset + first, end = begin + count;
  const auto [kind, size] = levels[level];
  if (kind == ArrowKind::Number)
    return takeNumbers(static_cast<const char *>(array.buffers[1]) +
                           begin * size,
                       static_cast<size_t>(count * size));
  for (int64_t i = begin; i < end; ++i)
    switch (kind) {
    case ArrowKind::Bool: {
      const char bit = bitOf(array, 1, i);
      takeNumbers(&bit, 1);
      break;
    }
    case ArrowKind::Text:
      takeText(textAt<int32_t>(array, i), *this);
      break;
    case ArrowKind::LargeText:
      takeText(textAt<int64_t>(array, i), *this);
      break;
    case ArrowKind::TextView:
      takeText(textOfView(array, i), *this);
      break;
    case ArrowKind::Dictionary:
      visitRange(level + 1, depth, *array.dictionary, indexAt(array, size, i),
                 1);
      break;
    case ArrowKind::FixedList:
      visitList(level, depth, array, i * size, (i + 1) * size);
      break;
    case ArrowKind::List:
      visitList(level, depth, array, elementOf<int32_t>(array, 1, i),
                elementOf<int32_t>(array, 1, i + 1));
      break;
    case ArrowKind::LargeList:
      visitList(level, depth, array, elementOf<int64_t>(array, 1, i),
                elementOf<int64_t>(array, 1, i + 1));
      break;
    default: // Other: the fault of the type.
      break;
    }
}

void ArrowValues::visit(const ArrowArray &batch) {
  // The batch is a struct, whose offset its columns lack.
  for (int64_t i = 0; i < batch.length; ++i, ++row)
    visitRange(/*level=*/0, /*depth=*/0, *batch.children[0], batch.offset + i,
               1);
}
