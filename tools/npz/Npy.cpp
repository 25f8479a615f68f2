//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//

#include "tools/npz/Npy.h"

#include <algorithm>
#include <cctype>
#include <cstring>

using namespace mpc::npz;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
/// An element type: NumPy's name and its letters in a header.
struct Type {
  const char *name, *letters;
  unsigned size;
};
} // namespace

static constexpr Type kTypes[] = {
    {"float16", "f2", 2}, {"float32", "f4", 4}, {"float64", "f8", 8},
    {"int8", "i1", 1},    {"int16", "i2", 2},   {"int32", "i4", 4},
    {"int64", "i8", 8},   {"uint8", "u1", 1},   {"uint16", "u2", 2},
    {"uint32", "u4", 4},  {"uint64", "u8", 8},  {"bool", "b1", 1},
    {"bfloat16", "", 2}}; // Not NumPy's: no header has it.

/// NumPy's limit.
static constexpr size_t kMaxDimensions = 64;

static const Type *findType(const std::string &name) {
  for (const Type &type : kTypes)
    if (name == type.name)
      return &type;
  return nullptr;
}

uint64_t ArrayType::elementSize() const {
  const Type *type = findType(dtype);
  return type ? type->size : 0;
}

uint64_t ArrayType::count() const {
  uint64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

std::string mpc::npz::typeText(const ArrayType &array) {
  std::string text = array.dtype + "[";
  for (size_t i = 0; i < array.shape.size(); ++i)
    text += (i > 0 ? "," : "") + std::to_string(array.shape[i]);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// The header: a Python dictionary with three keys
//===----------------------------------------------------------------------===//

namespace {
/// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
public:
  explicit HeaderParser(const std::string &text) : text(text) {}

  bool parse() {
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!parseString(key) || !take(':') || !parseValue(key))
        return false;
      if (!take(',') && !(skipSpace(), at < text.size() && text[at] == '}'))
        return false;
    }
    skipSpace();
    return at == text.size() && hasDescr && hasOrder && hasShape;
  }

  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;

private:
  void skipSpace() {
    while (at < text.size() &&
           std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }

  bool take(char wanted) {
    skipSpace();
    if (at >= text.size() || text[at] != wanted)
      return false;
    ++at;
    return true;
  }

  bool takeWord(const char *word) {
    skipSpace();
    if (text.compare(at, std::strlen(word), word) != 0)
      return false;
    at += std::strlen(word);
    return true;
  }

  bool parseString(std::string &value) {
    skipSpace();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
      return false;
    size_t end = text.find(text[at], at + 1);
    if (end == std::string::npos)
      return false;
    value = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }

  bool parseExtent() {
    skipSpace();
    int64_t value = 0;
    size_t begin = at;
    for (;
         at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]));
         ++at)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text[at] - '0', &value))
        return false;
    shape.push_back(value);
    // Python 2 wrote long integers as 3L.
    if (at > begin && at < text.size() && text[at] == 'L')
      ++at;
    return at > begin;
  }

  bool parseShape() {
    if (!take('('))
      return false;
    shape.clear();
    while (!take(')')) {
      // Stop at the first dimension too many.
      if (shape.size() > kMaxDimensions || !parseExtent())
        return false;
      if (!take(',') && !(at < text.size() && text[at] == ')'))
        return false;
    }
    return true;
  }

  bool parseValue(const std::string &key) {
    if (key == "descr") {
      // A structured type is a list; the caller reports that it is not
      // supported.
      skipSpace();
      hasDescr = true;
      if (at < text.size() && text[at] == '[') {
        at = text.size();
        descr = "structured";
        return false;
      }
      return parseString(descr);
    }
    if (key == "fortran_order") {
      hasOrder = true;
      fortranOrder = takeWord("True");
      return fortranOrder || takeWord("False");
    }
    if (key == "shape") {
      hasShape = true;
      return parseShape();
    }
    return false;
  }

  const std::string &text;
  size_t at = 0;
  bool hasDescr = false, hasOrder = false, hasShape = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// The elements
//===----------------------------------------------------------------------===//

static void swapBytes(std::vector<char> &data, unsigned size) {
  for (size_t i = 0; i + size <= data.size(); i += size)
    std::reverse(data.begin() + i, data.begin() + i + size);
}

/// From first index fastest to last index fastest.
static void toRowMajor(Array &array) {
  unsigned size = array.elementSize();
  std::vector<char> from = std::move(array.data);
  array.data.resize(from.size());
  std::vector<int64_t> index(array.shape.size(), 0);
  std::vector<uint64_t> strides(array.shape.size());
  uint64_t stride = size;
  for (size_t i = 0; i < array.shape.size(); ++i) {
    strides[i] = stride;
    stride *= array.shape[i];
  }
  uint64_t source = 0;
  for (size_t to = 0; to < from.size(); to += size) {
    std::memcpy(&array.data[to], &from[source], size);
    for (size_t i = array.shape.size(); i-- > 0;) {
      source += strides[i];
      if (++index[i] < array.shape[i])
        break;
      source -= strides[i] * array.shape[i];
      index[i] = 0;
    }
  }
}

/// The number of bytes of an array of this shape; false if it overflows or the
/// shape is invalid.
static bool countBytes(const std::vector<int64_t> &shape, unsigned size,
                       uint64_t &bytes) {
  bytes = size;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return false;
  return true;
}

namespace {
/// The contents of a header, and where the data is.
struct Layout {
  const Type *type = nullptr;
  bool isBigEndian = false, isFortran = false;
  std::vector<int64_t> shape;
  uint64_t begin = 0, bytes = 0; ///< Offset and size of the data.
};
} // namespace

/// Finds the text of the header; false if the bytes do not begin like a .npy
/// file.
static bool findHeader(const std::vector<char> &bytes, size_t &begin,
                       size_t &length, std::string &what) {
  constexpr size_t magicSize = 8;
  what = "it is not in NumPy's format";
  if (bytes.size() < magicSize + 2 ||
      std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    return false;
  unsigned version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) {
    what = "its format " + std::to_string(version) + " is not known";
    return false;
  }
  // The header's length is little-endian, 2 bytes in version 1.
  size_t lengthSize = version == 1 ? 2 : 4;
  if (bytes.size() < magicSize + lengthSize)
    return false;
  length = 0;
  for (size_t i = 0; i < lengthSize; ++i)
    length |= size_t(static_cast<unsigned char>(bytes[magicSize + i]))
              << (8 * i);
  begin = magicSize + lengthSize;
  return length <= bytes.size() - begin;
}

static bool parseLayout(const std::vector<char> &bytes, Layout &layout,
                        std::string &what) {
  size_t begin, length;
  if (!findHeader(bytes, begin, length, what))
    return false;
  std::string text(bytes.data() + begin, length);
  HeaderParser header(text);
  bool parsed = header.parse();
  if (header.descr.size() == 3 && std::strchr("<>|=", header.descr[0]))
    for (const Type &candidate : kTypes)
      if (header.descr.substr(1) == candidate.letters)
        layout.type = &candidate;
  if (!layout.type && !header.descr.empty()) {
    what = "its type '" + header.descr + "' is not supported";
    return false;
  }
  if (header.shape.size() > kMaxDimensions) {
    what = "it has more than " + std::to_string(kMaxDimensions) +
           " dimensions, the maximum";
    return false;
  }
  if (!parsed || !layout.type)
    return false;
  layout.begin = begin + length;
  layout.isBigEndian = header.descr[0] == '>';
  layout.isFortran = header.fortranOrder;
  layout.shape = std::move(header.shape);
  if (countBytes(layout.shape, layout.type->size, layout.bytes))
    return true;
  what = "its shape has no size";
  return false;
}

bool mpc::npz::parseNpyHeader(const std::vector<char> &bytes, NpyHeader &header,
                              std::string &what) {
  Layout layout;
  if (!parseLayout(bytes, layout, what))
    return false;
  header.array.dtype = layout.type->name;
  header.array.shape = std::move(layout.shape);
  header.begin = layout.begin;
  header.bytes = layout.bytes;
  header.isPlain = !layout.isBigEndian &&
                   (!layout.isFortran || header.array.shape.size() < 2);
  return true;
}

bool mpc::npz::parseNpy(std::vector<char> bytes, Array &array,
                        std::string &what) {
  Layout layout;
  if (!parseLayout(bytes, layout, what))
    return false;
  if (bytes.size() - layout.begin != layout.bytes) {
    what = "it has " + std::to_string(bytes.size() - layout.begin) +
           " bytes, which does not match its shape";
    return false;
  }
  bytes.erase(bytes.begin(), bytes.begin() + layout.begin);
  array.dtype = layout.type->name;
  array.shape = std::move(layout.shape);
  array.data = std::move(bytes);
  if (layout.isBigEndian)
    swapBytes(array.data, layout.type->size);
  if (layout.isFortran && array.shape.size() > 1)
    toRowMajor(array);
  return true;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string mpc::npz::formatNpy(const Array &array) {
  const Type *type = findType(array.dtype);
  std::string header = "{'descr': '";
  header += type->size == 1 ? '|' : '<';
  header += type->letters;
  header += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < array.shape.size(); ++i)
    header += (i > 0 ? ", " : "") + std::to_string(array.shape[i]);
  header += array.shape.size() == 1 ? ",), }" : "), }";
  // Pad so that magic, header and newline end at a multiple of 64.
  constexpr size_t before = 10;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';

  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(array.data.data(), array.data.size());
  return bytes;
}
