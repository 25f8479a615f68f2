//===- Table.cpp - CSV and TSV files --------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/sources/CsvParser.h"
#include "tools/mpc/data/sources/Files.h"
#include "tools/mpc/data/sources/TextColumn.h"

#include <algorithm>
#include <set>

using namespace mpc::tool;

namespace {
class TableSource : public DataSource {
public:
  TableSource(const std::string &path, const ClassNames &classes)
      : DataSource(path), file(path), parser(file, findSeparator()) {
    examine();
    for (size_t i = 0; i < columns.size(); ++i) {
      auto given = classes.find(columnNames[i]);
      columns[i].finish(given == classes.end() ? nullptr : &given->second);
    }
  }

  std::vector<std::string> names() const override { return columnNames; }
  bool isTable() const override { return true; }
  std::vector<std::string> classesOf(const std::string &name) const override {
    return columns[indexOf(name)].classes();
  }
  mpc::npz::ArrayType header(const std::string &name) const override {
    mpc::npz::ArrayType type;
    type.name = name;
    type.dtype = columns[indexOf(name)].dtype();
    type.shape = {static_cast<int64_t>(rows)};
    return type;
  }
  std::vector<StoredArray> read(const std::string &name) const override {
    const size_t index = indexOf(name);
    ElementsBuilder elements("column '" + name + "' of " + path);
    bool isHeader = true;
    parser.parse([&](const std::vector<std::string> &cells, uint64_t line) {
      if (!std::exchange(isHeader, false))
        columns[index].append(cells.at(index),
                              format("%s: column '%s' in line %llu",
                                     path.c_str(), name.c_str(),
                                     static_cast<unsigned long long>(line)),
                              elements);
      return true;
    });
    return {StoredArray(path, header(name), elements.take())};
  }

private:
  /// The separator that occurs most in the first line.
  char findSeparator() const {
    std::vector<char> begin =
        file.read(0, std::min<uint64_t>(file.size, 1 << 16));
    auto end = std::find(begin.begin(), begin.end(), '\n');
    char most = ',';
    for (char candidate : {',', ';', '\t'})
      if (std::count(begin.begin(), end, candidate) >
          std::count(begin.begin(), end, most))
        most = candidate;
    return most;
  }

  size_t indexOf(const std::string &name) const {
    return std::find(columnNames.begin(), columnNames.end(), name) -
           columnNames.begin();
  }

  /// Reads the file once, to find the columns and their types.
  void examine() {
    bool isHeader = true;
    parser.parse([&](const std::vector<std::string> &cells, uint64_t line) {
      if (std::exchange(isHeader, false)) {
        takeHeader(cells);
        return true;
      }
      if (cells.size() != columns.size())
        throw Failure(
            Usage, format("%s: line %llu has %s, but the first line has %s",
                          path.c_str(), static_cast<unsigned long long>(line),
                          formatCount(cells.size(), "cell").c_str(),
                          formatCount(columns.size()).c_str()));
      for (size_t i = 0; i < cells.size(); ++i)
        columns[i].examine(cells[i]);
      ++rows;
      return true;
    });
    if (isHeader)
      throw Failure(Usage, path + " is empty; its first line must have the "
                                  "names of the columns");
  }

  void takeHeader(const std::vector<std::string> &cells) {
    std::set<std::string> known;
    bool areNumbers = true;
    for (const std::string &cell : cells) {
      if (!known.insert(cell).second)
        throw Failure(Usage, path + ": two columns are called '" + cell + "'");
      char *end;
      areNumbers &= !cell.empty() && (std::strtod(cell.c_str(), &end), !*end);
    }
    if (areNumbers)
      throw Failure(Usage, path + ": the first line contains numbers, but it "
                                  "must have the names of the columns");
    columnNames = cells;
    columns.resize(cells.size());
  }

  const OpenedFile file;
  const CsvParser parser;
  std::vector<std::string> columnNames;
  std::vector<TextColumn> columns;
  uint64_t rows = 0;
};
} // namespace

std::unique_ptr<DataSource> mpc::tool::openTable(const std::string &path,
                                                 const ClassNames &classes) {
  return std::make_unique<TableSource>(path, classes);
}
