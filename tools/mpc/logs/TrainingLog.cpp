//===- TrainingLog.cpp - Logs of training in files ------------------------===//

#include "tools/mpc/logs/TrainingLog.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/Checks.h"

#include <nlohmann/json.hpp>

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
  command
      .add_option("--logdir", folder,
                  "Write event files for TensorBoard to this folder")
      ->option_text("DIR")
      ->check(NotEmpty())
      ->group("Output");
}

static std::string csvHeader() {
  std::string line;
  for (const auto &column : kColumns)
    line += (line.empty() ? "" : ",") + std::string(column.name);
  return line;
}

/// The row as a line of CSV. Numbers that are not finite are written as nan.
static std::string csvLine(const ordered_json &row) {
  std::string line;
  for (const auto &column : kColumns) {
    if (&column != kColumns)
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
                         uint64_t firstStep)
    : lastFlush(Clock::now()) {
  if (!settings.file.empty())
    openFile(place, firstStep);
  if (!settings.folder.empty())
    events.emplace(settings.folder, firstStep);
}

void TrainingLog::openFile(const std::string &place, uint64_t firstStep) {
  path = place;
  isCsv = path.size() > 4 && path.compare(path.size() - 4, 4, ".csv") == 0;
  std::string content = isCsv ? csvHeader() + "\n" : "";
  if (firstStep > 0) {
    std::ifstream earlier(path);
    for (std::string line; std::getline(earlier, line);)
      if (std::optional<uint64_t> step = stepOf(line, isCsv);
          step && *step <= firstStep)
        content += line + "\n";
  }
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
  for (const auto &column : kColumns) {
    auto found = row.find(column.name);
    if (!events || !*column.tag || found == row.end() || found->is_null())
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
  if (!isLogged)
    throw Failure(InputOutput, std::string("cannot write the events for "
                                           "TensorBoard: ") +
                                   std::strerror(errno));
}
