//===- TrainingLog.cpp - Logs of training in files ------------------------===//

#include "tools/mpc/logs/TrainingLog.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/Checks.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

using namespace mpc::tool;
using nlohmann::ordered_json;

/// Time after which readers see what was logged.
static constexpr auto kFlushTime = std::chrono::seconds(1);

/// The columns of a CSV file and the tags of TensorBoard ("": not shown).
static constexpr struct {
  const char *name, *tag;
} kColumns[] = {
    {"step", ""},
    {"epoch", ""},
    {"loss", "train/loss"},
    {"perplexity", "perplexity"},
    {"lr", "train/lr"},
    {"loss_scale", "train/loss_scale"},
    {"skipped", "train/skipped"},
    {"grad_norm", "train/grad_norm"},
    {"eval_loss", "eval/loss"},
    {"accuracy", "eval/accuracy"},
};

void LogSettings::addTo(CLI::App &command) {
  command
      .add_option("--log", file,
                  "Write a row for each step and evaluation to a .csv file, or "
                  "a .jsonl file of JSON objects")
      ->option_text("FILE")
      ->check(CLI::Validator(
          [](std::string &text) {
            size_t dot = text.rfind('.');
            std::string extension = dot == text.npos ? "" : text.substr(dot);
            return extension == ".csv" || extension == ".jsonl"
                       ? std::string()
                       : "must end in .csv or .jsonl, but is '" + text + "'";
          },
          ""))
      ->group("Output");
  CLI::Option *logdir = command.add_option(
      "--logdir", folder, "Write event files for TensorBoard to this folder");
  logdir->option_text("DIR")->check(NotEmpty())->group("Output");
  command
      .add_flag("--log-weights", histograms,
                "Also write the distribution of each weight after each epoch "
                "to --logdir")
      ->needs(logdir)
      ->group("Output");
}

/// A cell of a CSV file; names of outputs may hold anything.
static std::string csvCell(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == text.npos)
    return text;
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string TrainingLog::csvHeader() const {
  std::string line;
  for (const Column &column : columns)
    line += (line.empty() ? "" : ",") + csvCell(printable(column.name));
  return line;
}

/// The row as a line of CSV. Numbers that are not finite are written as nan.
std::string TrainingLog::csvLine(const ordered_json &row) const {
  std::string line;
  for (const Column &column : columns) {
    if (&column != columns.data())
      line += ',';
    auto found = row.find(column.name);
    if (found == row.end())
      continue;
    if (found->is_boolean())
      line += found->get<bool>() ? "1" : "0";
    else
      line += found->is_null() ? "nan" : found->dump();
  }
  return line;
}

/// The step of a line that was logged earlier; none for a header or a line that
/// an interruption has cut off.
static std::optional<uint64_t> stepOf(const std::string &line, bool isCsv) {
  if (isCsv) {
    char *end = nullptr;
    uint64_t step = std::strtoull(line.c_str(), &end, 10);
    return end != line.c_str() && *end == ',' ? std::optional(step)
                                              : std::nullopt;
  }
  ordered_json row = ordered_json::parse(line, nullptr, false);
  if (!row.is_object() || !row.contains("step") ||
      !row["step"].is_number_unsigned())
    return std::nullopt;
  return row["step"].get<uint64_t>();
}

static Failure cannotWrite(const std::string &path) {
  return Failure(InputOutput,
                 "cannot write '" + path + "': " + std::strerror(errno));
}

TrainingLog::TrainingLog(const LogSettings &settings, const std::string &place,
                         uint64_t firstStep,
                         const std::vector<std::string> &metrics)
    : histograms(settings.histograms), lastFlush(Clock::now()) {
  for (const auto &column : kColumns)
    columns.push_back({column.name, column.tag});
  for (const std::string &name : metrics)
    if (std::none_of(columns.begin(), columns.end(),
                     [&](const Column &column) { return column.name == name; }))
      columns.push_back({name, "eval/" + name});
  if (!settings.file.empty())
    openFile(place, firstStep);
  if (!settings.folder.empty())
    events.emplace(settings.folder, firstStep);
}

/// The cells of a line of numbers.
static std::vector<std::string> cellsOf(const std::string &line) {
  std::vector<std::string> cells(1);
  bool isQuoted = false;
  for (char c : line) {
    isQuoted ^= c == '"';
    if (c == ',' && !isQuoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

/// The rows that the file has up to a step, under the present columns.
std::string TrainingLog::rowsUntil(uint64_t firstStep) const {
  std::ifstream earlier(path);
  std::string content, line, header = csvHeader();
  std::vector<std::string> names = cellsOf(header), namesBefore = names;
  while (std::getline(earlier, line)) {
    std::optional<uint64_t> step = stepOf(line, isCsv);
    if (isCsv && !step && line.rfind("step,", 0) == 0)
      namesBefore = cellsOf(line);
    if (!step || *step > firstStep)
      continue;
    if (isCsv && namesBefore != names) {
      std::vector<std::string> cells = cellsOf(line);
      line.clear();
      for (const std::string &name : names) {
        size_t at =
            size_t(std::find(namesBefore.begin(), namesBefore.end(), name) -
                   namesBefore.begin());
        line += (&name == names.data() ? "" : ",") +
                (at < cells.size() ? cells[at] : "");
      }
    }
    content += line + "\n";
  }
  return content;
}

void TrainingLog::openFile(const std::string &place, uint64_t firstStep) {
  path = place;
  isCsv = path.size() > 4 && path.compare(path.size() - 4, 4, ".csv") == 0;
  std::string content = isCsv ? csvHeader() + "\n" : "";
  if (firstStep > 0)
    content += rowsUntil(firstStep);
  writeFile(path, content);
  file.reset(std::fopen(path.c_str(), "ae"));
  if (!file)
    throw cannotWrite(path);
}

void TrainingLog::add(const ordered_json &row) {
  if (file) {
    std::string line = isCsv ? csvLine(row) : row.dump();
    if (std::fputs((line + "\n").c_str(), file.get()) < 0)
      throw cannotWrite(path);
  }
  bool isLogged = true;
  for (const Column &column : columns) {
    auto found = row.find(column.name);
    if (!events || column.tag.empty() || found == row.end() || found->is_null())
      continue;
    double value =
        found->is_boolean() ? found->get<bool>() : found->get<double>();
    isLogged &= events->addScalar(column.tag, value, row["step"]);
  }
  Clock::time_point now = Clock::now();
  bool isEvaluation = row.contains("eval_loss");
  if (isLogged && (isEvaluation || now - lastFlush >= kFlushTime)) {
    lastFlush = now;
    if (file && std::fflush(file.get()) != 0)
      throw cannotWrite(path);
    isLogged = !events || events->flush();
  }
  requireEvents(isLogged);
}

void TrainingLog::requireEvents(bool isLogged) const {
  if (!isLogged)
    throw Failure(InputOutput, std::string("cannot write the events for "
                                           "TensorBoard: ") +
                                   std::strerror(errno));
}

void TrainingLog::addWeight(uint64_t step, const std::string &name,
                            const std::vector<float> &values) {
  if (wantsWeights())
    requireEvents(
        events->addHistogram("weights/" + name, Histogram(values), step));
}

void TrainingLog::addSpeed(uint64_t step, double samplesPerSecond,
                           double waitShare) {
  if (events)
    requireEvents(
        events->addScalar("speed/samples_per_second", samplesPerSecond, step) &&
        events->addScalar("speed/data_wait", waitShare, step));
}
