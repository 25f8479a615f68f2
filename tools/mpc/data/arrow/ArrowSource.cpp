//===- ArrowSource.cpp - Parquet and Arrow files --------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/data/arrow/ArrowStream.h"
#include "tools/mpc/data/arrow/ArrowType.h"
#include "tools/mpc/data/arrow/ArrowValues.h"
#include "tools/mpc/data/sources/Files.h"
#include "tools/mpc/data/sources/OpenedFile.h"

#include <algorithm>
#include <optional>

using namespace mpc::tool;

/// Whether pandas has written the column to restore the labels of rows.
static bool isPandasIndex(const std::string &name) {
  return name.rfind("__index_level_", 0) == 0;
}

namespace {
class ArrowSource : public DataSource {
public:
  ArrowSource(const std::string &path, const ClassNames &classes)
      : DataSource(path), givenClasses(classes) {
    (void)OpenedFile(path); // Throws unless it is a file.
    ArrowStream stream(path, mpc::arrow::kTypesOnly);
    ArrowOwned<ArrowSchema> schema;
    stream.readSchema(schema);
    rows = stream.numRows();
    for (int64_t i = 0; i < schema.n_children; ++i) {
      const ArrowSchema &child = *schema.children[i];
      const std::string name = child.name ? child.name : "";
      if (isPandasIndex(name))
        continue;
      if (!columns.emplace(name, ArrowColumn{i, describeArrowType(child), {}})
               .second)
        throw Failure(Usage, path + ": two columns are called '" + name + "'");
      order.push_back(name);
    }
  }

  std::vector<std::string> names() const override { return order; }

  bool isTable() const override {
    return std::all_of(columns.begin(), columns.end(), [](const auto &column) {
      return column.second.type.shape.empty();
    });
  }

  std::vector<std::string> classesOf(const std::string &name) const override {
    return columns.at(name).type.isText() ? examined(name).classes()
                                          : std::vector<std::string>();
  }

  mpc::npz::ArrayType header(const std::string &name) const override {
    const ArrowColumn &column = columns.at(name);
    mpc::npz::ArrayType type;
    type.name = name;
    type.dtype =
        column.type.isText() ? examined(name).dtype() : column.type.dtype;
    if (needsExamination(column.type))
      (void)examined(name);
    type.shape = column.type.shape;
    type.shape.insert(type.shape.begin(), rows);
    return type;
  }

  std::vector<StoredArray> read(const std::string &name) const override {
    const mpc::npz::ArrayType type = header(name);
    ElementsBuilder elements("column '" + name + "' of " + path);
    const TextColumn *texts =
        columns.at(name).type.isText() ? &examined(name) : nullptr;
    walk(
        name,
        [&](const char *bytes, size_t size) { elements.append(bytes, size); },
        [&](const std::string &text, const ArrowValues &values) {
          texts->append(text, values.where(), elements);
        });
    return {StoredArray(path, type, elements.take())};
  }

private:
  struct ArrowColumn {
    int64_t index;
    ArrowType type;
    std::optional<TextColumn> texts; ///< Set by examined().
  };

  /// Whether only the values tell the type: classes, and the lengths of lists.
  static bool needsExamination(const ArrowType &type) {
    return type.isText() || std::count(type.shape.begin(), type.shape.end(),
                                       ArrowType::kAnyLength) > 0;
  }

  std::string nameOf(const std::string &name) const {
    return path + ": column '" + name + "'";
  }

  /// Visits all values of a column, and returns the lengths of its lists.
  std::vector<int64_t> walk(const std::string &name,
                            ArrowValues::TakeNumbers takeNumbers,
                            ArrowValues::TakeText takeText) const {
    const ArrowColumn &column = columns.at(name);
    if (!column.type.fault.empty())
      throw Failure(Usage, nameOf(name) + " " + column.type.fault);
    ArrowStream stream(path, column.index);
    ArrowOwned<ArrowSchema> schema;
    stream.readSchema(schema);
    auto requireSame = [&](bool isSame) {
      if (!isSame)
        throw Failure(InputOutput,
                      "cannot read '" + path + "': column '" + name +
                          "' has another type or number of rows than the "
                          "file states; it is damaged, or has changed while "
                          "it was read");
    };
    requireSame(schema.n_children == 1 && stream.numRows() == rows);
    ArrowType type = describeArrowType(*schema.children[0]);
    requireSame(type.fault.empty() && type.dtype == column.type.dtype &&
                type.shape.size() == column.type.shape.size());
    type.shape = column.type.shape;
    ArrowValues values(nameOf(name), type, std::move(takeNumbers),
                       std::move(takeText));
    for (ArrowOwned<ArrowArray> batch; stream.readNext(batch);)
      values.visit(batch);
    requireSame(values.numRows() == rows);
    return values.shape();
  }

  /// The texts of a column, after the lengths of its lists have been found.
  const TextColumn &examined(const std::string &name) const {
    ArrowColumn &column = columns.at(name);
    if (column.texts)
      return *column.texts;
    TextColumn texts;
    std::vector<int64_t> shape = walk(
        name, [](const char *, size_t) {},
        [&](const std::string &text, const ArrowValues &) {
          texts.examine(text);
        });
    std::replace(shape.begin(), shape.end(), ArrowType::kAnyLength,
                 int64_t(0)); // There are no rows.
    auto given = givenClasses.find(name);
    texts.finish(given == givenClasses.end() ? nullptr : &given->second);
    column.type.shape = shape;
    return column.texts.emplace(std::move(texts));
  }

  const ClassNames givenClasses;
  std::vector<std::string> order;
  mutable std::map<std::string, ArrowColumn> columns;
  int64_t rows = 0;
};
} // namespace

std::unique_ptr<DataSource>
mpc::tool::openArrowFile(const std::string &path, const ClassNames &classes) {
  return std::make_unique<ArrowSource>(path, classes);
}
