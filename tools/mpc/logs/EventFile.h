//===- EventFile.h - Event files of TensorBoard -----------------*- C++ -*-===//
//
// A file of TFRecords: the length of an event, its checksum, the event and its
// checksum. An event is a protocol buffer (tensorflow/core/util/event.proto).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_LOGS_EVENTFILE_H
#define MPC_TOOLS_MPC_LOGS_EVENTFILE_H

#include "tools/mpc/logs/Histogram.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace mpc::tool {

class EventFile {
public:
  /// Creates a new file "events.out.tfevents.TIME.HOST.PID" in `folder`, which
  /// is created if necessary. Readers drop what earlier files of the folder
  /// have after `firstStep`. Throws a Failure if the file cannot be written.
  EventFile(const std::string &folder, uint64_t firstStep);

  /// Adds one number. False if the file cannot be written (see errno).
  bool addScalar(const std::string &tag, double value, uint64_t step);

  /// Adds a distribution; false as above.
  bool addHistogram(const std::string &tag, const Histogram &values,
                    uint64_t step);

  /// Makes readers see everything; false as above.
  bool flush();

private:
  bool addEvent(const std::string &event);
  bool addSummary(const std::string &value, uint64_t step);

  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_LOGS_EVENTFILE_H
