//===- RunLog.cpp - Read the log of a training run ------------------------===//

#include "tools/mpc/plots/RunLog.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/sources/CsvParser.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

using namespace mpc::tool;

/// Adds the values of one row, by their names.
static void addRow(RunLog &log, double step,
                   const std::map<std::string, double> &values) {
  for (const auto &[name, value] : values)
    if (name != "step" && name != "epoch" && std::isfinite(value))
      log.curves[name].push_back({step, value});
}

static void readCsv(const OpenedFile &file, RunLog &log) {
  std::vector<std::string> names;
  CsvParser(file, ',').parse(
      [&](const std::vector<std::string> &cells, uint64_t) {
        if (names.empty()) {
          names = cells;
          return true;
        }
        std::map<std::string, double> values;
        for (size_t i = 0; i < std::min(names.size(), cells.size()); ++i) {
          char *end;
          double value = std::strtod(cells[i].c_str(), &end);
          if (!cells[i].empty() && *end == '\0')
            values[names[i]] = value;
        }
        if (auto step = values.find("step"); step != values.end())
          addRow(log, step->second, values);
        return true;
      });
}

static void readJson(const OpenedFile &file, RunLog &log) {
  const std::vector<char> bytes = file.read(0, file.size);
  std::istringstream lines(std::string(bytes.begin(), bytes.end()));
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json row =
        nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!row.is_object() || !row.contains("step") || !row["step"].is_number())
      continue; // The last object of --json describes the device.
    std::map<std::string, double> values;
    for (const auto &[name, value] : row.items())
      if (value.is_number())
        values[name] = value.get<double>();
    addRow(log, row["step"].get<double>(), values);
  }
}

RunLog mpc::tool::readRunLog(const std::string &path) {
  RunLog log;
  log.name = path;
  OpenedFile file(path);
  if (std::filesystem::path(path).extension() == ".csv")
    readCsv(file, log);
  else
    readJson(file, log);
  if (log.curves.empty())
    throw Failure(Usage, "'" + path +
                             "' has no steps; give a file that mpc "
                             "train --log or --json wrote");
  return log;
}
