//===- BatchLoader.cpp - Gather the next batch in the background ----------===//

#include "tools/mpc/data/BatchLoader.h"

#include <utility>

using namespace mpc::tool;

void mpc::tool::gatherRows(const Columns &columns, const SampleBatch &rows,
                           BatchBuffers &buffers) {
  // Start all reads before waiting for the first.
  for (const auto &column : columns)
    if (column->input.batchDim >= 0)
      column->prefetch(rows);
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i]->input.batchDim >= 0)
      columns[i]->gather(rows, buffers[i].data());
}

BatchLoader::BatchLoader(const Columns &columns, BatchBuffers buffers)
    : columns(columns), buffers(std::move(buffers)) {
  thread = std::thread([this] { run(); });
}

BatchLoader::~BatchLoader() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stops = true;
  }
  changed.notify_all();
  thread.join();
}

void BatchLoader::start(SampleBatch rows) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (state != Idle)
      return;
    wanted = std::move(rows);
    error = nullptr;
    state = Requested;
  }
  changed.notify_all();
}

bool BatchLoader::take(const SampleBatch &rows, BatchBuffers &other) {
  std::unique_lock<std::mutex> lock(mutex);
  if (state == Idle)
    return false;
  changed.wait(lock, [&] { return state == Ready; });
  state = Idle;
  if (wanted != rows)
    return false;
  if (error)
    std::rethrow_exception(std::exchange(error, nullptr));
  std::swap(buffers, other);
  return true;
}

void BatchLoader::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stops || state == Requested; });
    if (stops)
      return;
    // Nobody else uses `wanted` and `buffers` in this state.
    lock.unlock();
    std::exception_ptr thrown;
    try {
      gatherRows(columns, wanted, buffers);
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    error = thrown;
    state = Ready;
    changed.notify_all();
  }
}
