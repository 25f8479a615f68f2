//===- DataOptions.h - The options --data, --map and others -----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_DATAOPTIONS_H
#define MPC_TOOLS_MPC_DATA_DATAOPTIONS_H

#include "tools/mpc/data/sources/TextColumn.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

class DataSource;

/// The group for commands with --help-all, where only --data is usual.
inline constexpr char kRareDataGroup[] = "More data options";

/// Where the data of a command is, and what its inputs take from it.
struct DataOptions {
  DataOptions() = default;
  /*implicit*/ DataOptions(std::string path) : path(std::move(path)) {}

  std::string path;
  std::vector<std::string> maps;   ///< "INPUT=ARRAY" or "INPUT=A,B,C".
  std::vector<std::string> scales; ///< See scalingOf.
  std::vector<std::string> normalizations;
  std::optional<uint64_t> stride;     ///< Tokens between windows of a text.
  std::optional<uint64_t> labelShift; ///< Tokens that labels are ahead.
  std::string augment; ///< See parseAugmentation; for training only.
  ClassNames classes;  ///< By inputs; known from the training data.
  /// Opens data that is not in files, which `path` describes; null: files.
  std::function<std::unique_ptr<DataSource>()> open;

  /// Adds the options to a command; `what` says what --data must contain. The
  /// other options are in a group of the help, which may be rare (see Help.h).
  CLI::Option *addTo(CLI::App &command, const std::string &what,
                     const std::string &group = "Data");

  /// The same options for data to evaluate on, which is not augmented.
  DataOptions with(const std::string &otherPath) const {
    DataOptions other = *this;
    other.path = otherPath;
    other.augment.clear();
    other.open = nullptr;
    return other;
  }

  /// The arrays that --map gives to an input; empty if it does not name it.
  std::vector<std::string> mappedTo(const std::string &input) const;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_DATAOPTIONS_H
