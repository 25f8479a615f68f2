//===- BatchLoader.h - Gather the next batch in the background --*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_BATCHLOADER_H
#define MPC_TOOLS_MPC_DATA_BATCHLOADER_H

#include "tools/mpc/data/Column.h"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace mpc::tool {

using Columns = std::vector<std::shared_ptr<const Column>>;

/// One buffer per column, with a batch each.
using BatchBuffers = std::vector<std::vector<char>>;

/// Gathers rows into the buffers of the columns with a batch dimension.
void gatherRows(const Columns &columns, const SampleBatch &rows,
                BatchBuffers &buffers);

/// A thread that gathers one batch while another one is used.
class BatchLoader {
public:
  /// `columns` must outlive the loader; `buffers` are of the sizes of batches.
  BatchLoader(const Columns &columns, BatchBuffers buffers);
  /// Waits for the batch that is being gathered.
  ~BatchLoader();

  /// Starts to gather these rows, unless another batch has been started and not
  /// been taken.
  void start(SampleBatch rows);

  /// If start() was called with these rows, waits for them, swaps the buffers
  /// and returns true. Throws what gathering them threw. A batch of other rows
  /// is given up.
  bool take(const SampleBatch &rows, BatchBuffers &other);

private:
  void run();

  const Columns &columns;
  BatchBuffers buffers;
  SampleBatch wanted;
  enum { Idle, Requested, Ready } state = Idle;
  bool stops = false;
  std::exception_ptr error;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread thread;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_BATCHLOADER_H
