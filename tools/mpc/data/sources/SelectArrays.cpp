//===- SelectArrays.cpp - The arrays that inputs take ---------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/BindArrays.h"
#include "tools/mpc/data/Column.h"
#include "tools/mpc/data/sources/OpenData.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

using namespace mpc::tool;

namespace {
class SelectedSource : public DataSource {
public:
  SelectedSource(std::unique_ptr<DataSource> all, const DataOptions &options,
                 const std::vector<Binding> &inputs,
                 std::vector<std::string> &notes)
      : DataSource(all->path), source(std::move(all)) {
    for (const std::string &map : options.maps)
      addMap(map.substr(0, map.find('=')), options, inputs);
    for (const Binding &input : inputs)
      if (!isMapped(input.name) && source->has(input.name))
        taken.insert(input.name);
    for (const std::string &name : unknown)
      if (name != "labels" && name != "targets")
        notes.push_back("--map: the model takes no '" + name +
                        "' here; it takes " + namesOf(inputs));
    if (source->isTable())
      for (const Binding &input : inputs)
        useColumns(input, inputs, notes);
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto &[name, selection] : selections)
      all.push_back(name);
    for (const std::string &name : source->names())
      if (!isMapped(name))
        all.push_back(name);
    return all;
  }
  bool isTable() const override { return source->isTable(); }
  std::unique_ptr<Column>
  makeColumn(const Binding &input, const Scaling &scaling,
             const Augmentation &augmentation) const override {
    return source->makeColumn(input, scaling, augmentation);
  }
  std::vector<std::string> classesOf(const std::string &name) const override {
    auto found = selections.find(name);
    if (found == selections.end())
      return source->classesOf(name);
    for (const std::string &array : found->second.arrays)
      if (auto classes = source->classesOf(array); !classes.empty())
        return classes;
    return {};
  }

  mpc::npz::ArrayType header(const std::string &name) const override {
    auto found = selections.find(name);
    if (found == selections.end())
      return source->header(name);
    return typeOf(name, found->second);
  }

  std::vector<StoredArray> read(const std::string &name) const override {
    auto found = selections.find(name);
    if (found == selections.end())
      return source->read(name);
    if (!found->second.isStacked) {
      std::vector<StoredArray> parts = source->read(found->second.arrays[0]);
      for (StoredArray &part : parts)
        part.name = name;
      return parts;
    }
    return {stack(name, found->second)};
  }

private:
  static std::string namesOf(const std::vector<Binding> &inputs) {
    std::vector<std::string> names;
    for (const Binding &input : inputs)
      names.push_back(input.name);
    return listNames(names);
  }

  struct Selection {
    std::vector<std::string> arrays;
    bool isStacked; ///< They become the columns of a matrix.
  };

  bool isMapped(const std::string &name) const {
    return selections.count(name) > 0;
  }

  /// Takes what --map says about an input.
  void addMap(const std::string &name, const DataOptions &options,
              const std::vector<Binding> &inputs) {
    std::vector<std::string> arrays = options.mappedTo(name);
    auto input =
        std::find_if(inputs.begin(), inputs.end(), [&](const Binding &binding) {
          return binding.name == name;
        });
    std::vector<std::string> known = source->names();
    for (const std::string &array : arrays) {
      if (std::find(known.begin(), known.end(), array) == known.end()) {
        std::string nearest = findNearest(array, known);
        throw Failure(
            Usage,
            "--map: " + path + " has no array '" + array + "'" +
                (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
      }
      taken.insert(array);
    }
    if (!inputs.empty() && input == inputs.end())
      unknown.push_back(name);
    bool becomesMatrix = input != inputs.end() && input->shape.size() == 2 &&
                         input->batchDim == 0 &&
                         source->header(arrays[0]).shape.size() == 1;
    selections[name] = {arrays, arrays.size() > 1 || becomesMatrix};
    if (selections[name].isStacked)
      (void)typeOf(name, selections[name]); // Checks that this is possible.
  }

  /// Finds the columns of an input that no column is named after, or makes a
  /// matrix of its only column.
  void useColumns(const Binding &input, const std::vector<Binding> &inputs,
                  std::vector<std::string> &notes) {
    if (input.shape.size() != 2 || input.batchDim != 0 || isMapped(input.name))
      return;
    if (source->has(input.name)) {
      if (input.shape[1] == 1)
        selections[input.name] = {{input.name}, true};
      return;
    }
    size_t others =
        std::count_if(inputs.begin(), inputs.end(), [&](const Binding &other) {
          return !isMapped(other.name) && !source->has(other.name);
        });
    // Perhaps one of the columns is the missing array that the loss needs.
    if (others != 1)
      return;
    std::vector<std::string> left;
    for (const std::string &name : source->names())
      if (!taken.count(name))
        left.push_back(name);
    std::vector<std::string> shown(
        left.begin(), left.begin() + std::min<size_t>(left.size(), 8));
    if (shown.size() < left.size())
      shown.push_back(formatCount(left.size() - shown.size(), "other"));
    if (static_cast<int64_t>(left.size()) != input.shape[1])
      throw Failure(Usage,
                    path + " has " + formatCount(left.size(), "column") +
                        " for '" + input.name + "'" +
                        (left.empty() ? "" : " (" + joinWords(shown) + ")") +
                        ", which the model takes as " + expectedType(input) +
                        "; choose columns with "
                        "--map " +
                        input.name + "=NAME,...");
    selections[input.name] = {left, true};
    notes.push_back(path + ": '" + input.name + "' takes the columns " +
                    joinWords(shown) + "; use --map to change it");
  }

  /// The type of an array of columns or under another name.
  mpc::npz::ArrayType typeOf(const std::string &name,
                             const Selection &selection) const {
    mpc::npz::ArrayType type = source->header(selection.arrays[0]);
    type.name = name;
    if (!selection.isStacked)
      return type;
    const std::vector<int64_t> shape = type.shape;
    type.dtype = "int64";
    for (const std::string &array : selection.arrays) {
      mpc::npz::ArrayType column = source->header(array);
      if (column.shape.size() != 1 || column.shape != shape)
        throw Failure(
            Usage, path + ": '" + array + "' is " + mpc::npz::typeText(column) +
                       ", and cannot be a column of '" + name + "' beside '" +
                       selection.arrays[0] + "' (" +
                       mpc::npz::typeText(source->header(selection.arrays[0])) +
                       ")");
      if (isFloat(column))
        type.dtype = "float64";
    }
    type.shape.push_back(static_cast<int64_t>(selection.arrays.size()));
    return type;
  }

  /// The matrix of several columns.
  StoredArray stack(const std::string &name, const Selection &selection) const {
    mpc::npz::ArrayType type = typeOf(name, selection);
    mpc_dtype_t to = type.dtype == "int64" ? MPC_DTYPE_I64 : MPC_DTYPE_F64;
    std::vector<StoredArray> columns;
    std::vector<Convert> converts;
    for (const std::string &array : selection.arrays) {
      columns.push_back(readWhole(*source, array));
      converts.push_back(requireConversion(columns.back(), to));
    }
    ElementsBuilder elements("'" + name + "' of " + path);
    const uint64_t rows = type.shape[0];
    std::vector<char> row(columns.size() * sizeof(double));
    for (uint64_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns.size(); ++j)
        converts[j](columns[j].data() + i * columns[j].elementSize(), 1,
                    &row[j * sizeof(double)]);
      elements.append(row.data(), row.size());
    }
    return StoredArray(path, type, elements.take());
  }

  const std::unique_ptr<DataSource> source;
  std::vector<std::string> unknown; ///< Mapped names that are no inputs.
  std::map<std::string, Selection> selections; ///< By input.
  std::set<std::string> taken; ///< Arrays that an input takes by name.
};
} // namespace

std::unique_ptr<DataSource> mpc::tool::selectArrays(
    std::unique_ptr<DataSource> source, const DataOptions &options,
    const std::vector<Binding> &inputs, std::vector<std::string> &notes) {
  if (options.maps.empty() && !source->isTable())
    return source;
  return std::make_unique<SelectedSource>(std::move(source), options, inputs,
                                          notes);
}
