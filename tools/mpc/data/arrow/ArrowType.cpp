//===- ArrowType.cpp - The type of an Arrow column ------------------------===//

#include "tools/mpc/data/arrow/ArrowType.h"

#include <cstdlib>

using namespace mpc::tool;

namespace {
/// A format of Arrow's C data interface, or the beginning of several.
struct ArrowFormat {
  const char *text;
  ArrowKind kind;
  int64_t size;
  const char *name; ///< NumPy's if it is a number.
};
} // namespace

/// The first row counts whose text the format begins with.
static constexpr ArrowFormat kArrowFormats[] = {
    {"c", ArrowKind::Number, 1, "int8"},
    {"C", ArrowKind::Number, 1, "uint8"},
    {"s", ArrowKind::Number, 2, "int16"},
    {"S", ArrowKind::Number, 2, "uint16"},
    {"i", ArrowKind::Number, 4, "int32"},
    {"I", ArrowKind::Number, 4, "uint32"},
    {"l", ArrowKind::Number, 8, "int64"},
    {"L", ArrowKind::Number, 8, "uint64"},
    {"e", ArrowKind::Number, 2, "float16"},
    {"f", ArrowKind::Number, 4, "float32"},
    {"g", ArrowKind::Number, 8, "float64"},
    {"b", ArrowKind::Bool, 0, "bool"},
    {"u", ArrowKind::Text, 0, "texts"},
    {"U", ArrowKind::LargeText, 0, "texts"},
    {"vu", ArrowKind::TextView, 0, "texts"},
    {"+w:", ArrowKind::FixedList, 0, "lists"},
    {"+l", ArrowKind::List, 0, "lists"},
    {"+L", ArrowKind::LargeList, 0, "lists"},
    {"+s", ArrowKind::Other, 0, "structs; write a column for each field"},
    {"+m", ArrowKind::Other, 0, "maps"},
    {"+v", ArrowKind::Other, 0, "list views; cast them to lists"},
    {"+r", ArrowKind::Other, 0, "run-end encoded values; decode them"},
    {"n", ArrowKind::Other, 0, "nothing but nulls"},
    {"d:", ArrowKind::Other, 0, "decimal numbers; cast them to floats"},
    {"t", ArrowKind::Other, 0, "dates or times; cast them to numbers"},
};

/// Null if the format is not in the table.
static const ArrowFormat *findArrowFormat(const std::string &format) {
  for (const ArrowFormat &row : kArrowFormats)
    if (format.rfind(row.text, 0) == 0)
      return &row;
  return nullptr;
}

const char *mpc::tool::arrowFormatOf(const std::string &dtype) {
  for (const ArrowFormat &row : kArrowFormats)
    if (dtype == row.name)
      return row.text;
  return nullptr;
}

ArrowType mpc::tool::describeArrowType(const ArrowSchema &schema) {
  ArrowType type;
  for (const ArrowSchema *level = &schema;;) {
    const std::string text = level->format;
    const ArrowFormat *format = findArrowFormat(text);
    if (!format || format->kind == ArrowKind::Other) {
      type.fault = "contains " + (format ? format->name
                                         : "values of Arrow's format '" + text +
                                               "', which mpc does not read");
      return type;
    }
    if (level->dictionary) { // The format is that of the indices.
      type.levels.push_back({ArrowKind::Dictionary, format->size});
      level = level->dictionary;
      continue;
    }
    type.levels.push_back({format->kind, format->size});
    switch (format->kind) {
    case ArrowKind::FixedList:
      type.levels.back().size = std::strtoll(text.c_str() + 3, nullptr, 10);
      type.shape.push_back(type.levels.back().size);
      break;
    case ArrowKind::List:
    case ArrowKind::LargeList:
      type.shape.push_back(ArrowType::kAnyLength);
      break;
    case ArrowKind::Number:
    case ArrowKind::Bool:
      type.dtype = format->name;
      return type;
    default:
      return type;
    }
    level = level->children[0];
  }
}
