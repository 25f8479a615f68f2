//===- CsvParser.h - Records of a CSV file ----------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_SOURCES_CSVPARSER_H
#define MPC_TOOLS_MPC_DATA_SOURCES_CSVPARSER_H

#include "tools/mpc/data/sources/OpenedFile.h"

#include <functional>
#include <string>
#include <vector>

namespace mpc::tool {

/// Splits a file into records and cells as RFC 4180 describes, with lines that
/// end in CRLF or LF. Empty lines are skipped.
class CsvParser {
public:
  CsvParser(const OpenedFile &file, char separator)
      : file(file), separator(separator) {}

  /// Calls `visit` with the cells of each record and the number of its first
  /// line, counted from 1, until it returns false. Throws a Failure if a quote
  /// is not closed, or a record is longer than kMaxRecord.
  void parse(const std::function<bool(const std::vector<std::string> &,
                                      uint64_t line)> &visit) const;

  /// The maximum length of a record in bytes.
  static constexpr uint64_t kMaxRecord = 64 << 20;

private:
  const OpenedFile &file;
  const char separator;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_SOURCES_CSVPARSER_H
