//===- OneHotColumn.h - Class numbers as rows of targets --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_SOURCES_ONEHOTCOLUMN_H
#define MPC_TOOLS_MPC_DATA_SOURCES_ONEHOTCOLUMN_H

#include "tools/mpc/data/augment/DerivedColumn.h"
#include "tools/mpc/data/sources/DataSource.h"

namespace mpc::tool {

/// Rows of zeros with a 1 at the number that a column of classes has.
class OneHotColumn : public DerivedColumn {
public:
  OneHotColumn(const Binding &input, std::shared_ptr<const Column> classes)
      : DerivedColumn(input, std::move(classes)) {}

  void gather(const SampleBatch &batch, char *to) const override;
  bool ignores(uint64_t) const override { return false; }
};

/// The column of an input that takes a number for each class (f32[N,C]), if the
/// source has one class number for each sample under its name (--map
/// targets=labels); otherwise null.
std::unique_ptr<Column> makeOneHot(const DataSource &source,
                                   const Binding &input);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_SOURCES_ONEHOTCOLUMN_H
