//===- ClassCounts.cpp - Hits per class -----------------------------------===//

#include "tools/mpc/metrics/kinds/ClassCounts.h"

using namespace mpc::tool;

void ClassCounts::add(const Row &row) {
  ++numRows;
  if (shape.task == Task::Classes) {
    counts[row.label].actual += 1;
    counts[row.predicted].predicted += 1;
    counts[row.label].hits += row.label == row.predicted;
    return;
  }
  for (uint64_t i = 0; i < shape.columns; ++i) {
    bool isPredicted = row.values[i] > shape.threshold();
    bool isActual = row.targets[i] > 0.5;
    counts[i].predicted += isPredicted;
    counts[i].actual += isActual;
    counts[i].hits += isPredicted && isActual;
  }
}

/// The negative class of a binary column.
static ClassCounts::Class complementOf(const ClassCounts::Class &positive,
                                       uint64_t rows) {
  return {rows + positive.hits - positive.predicted - positive.actual,
          rows - positive.predicted, rows - positive.actual};
}

std::vector<ClassCounts::Class> ClassCounts::classes() const {
  if (!isOneColumn())
    return counts;
  return {complementOf(counts[0], numRows), counts[0]};
}

std::pair<uint64_t, uint64_t> ClassCounts::hits() const {
  uint64_t all = 0;
  for (const Class &counted : counts) {
    all += counted.hits;
    if (shape.task == Task::Binary)
      all += complementOf(counted, numRows).hits;
  }
  return {all, shape.task == Task::Binary ? numRows * shape.columns : numRows};
}
