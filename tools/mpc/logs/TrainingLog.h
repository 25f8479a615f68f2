//===- TrainingLog.h - Logs of training in files ----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_LOGS_TRAININGLOG_H
#define MPC_TOOLS_MPC_LOGS_TRAININGLOG_H

#include "tools/mpc/logs/EventFile.h"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace mpc::tool {

struct LogSettings {
  std::string file;        ///< `--log`: a .jsonl or .csv file, or "".
  std::string folder;      ///< `--logdir`: of TensorBoard, or "".
  bool histograms = false; ///< `--log-weights`.

  bool isEmpty() const { return file.empty() && folder.empty(); }
  /// Adds the options to a command.
  void addTo(CLI::App &command);
};

/// Writes a row for each step and each evaluation to the files that the user
/// wants. A run that continues leaves out what earlier runs have logged after
/// the step at which it continues.
class TrainingLog {
public:
  /// `place` is that of the file (resolveOutputPath), or "". Throws a Failure
  /// if a file cannot be read or written.
  /// Rows of evaluations also have the numbers called `metrics`, which a
  /// resumed run may change.
  TrainingLog(const LogSettings &settings, const std::string &place,
              uint64_t firstStep, const std::vector<std::string> &metrics = {});

  /// Adds a row: numbers by name, "step" among them, as `mpc train --json`
  /// prints them. Throws a Failure if it cannot be written.
  void add(const nlohmann::ordered_json &row);

  /// Shows TensorBoard the distribution of a weight's values. Does nothing
  /// unless the user wants it, as wantsWeights() says.
  void addWeight(uint64_t step, const std::string &name,
                 const std::vector<float> &values);
  bool wantsWeights() const { return events && histograms; }

  /// Shows TensorBoard how fast training has been until a step: samples per
  /// second, and the share of the time in which it waited for data. Files of
  /// rows are the same for every run, so they do not have this.
  void addSpeed(uint64_t step, double samplesPerSecond, double waitShare);

private:
  /// A column of a CSV file and its tag in TensorBoard ("": not shown).
  struct Column {
    std::string name, tag;
  };

  void openFile(const std::string &place, uint64_t firstStep);
  std::string csvHeader() const;
  std::string csvLine(const nlohmann::ordered_json &row) const;
  std::string rowsUntil(uint64_t firstStep) const;
  void requireEvents(bool isLogged) const;

  using Clock = std::chrono::steady_clock;
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file;
  std::vector<Column> columns;
  std::string path;
  bool isCsv = false, histograms = false;
  std::optional<EventFile> events;
  Clock::time_point lastFlush;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_LOGS_TRAININGLOG_H
