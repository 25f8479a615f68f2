//===- DerivedColumn.h - A column that changes another ----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_AUGMENT_DERIVEDCOLUMN_H
#define MPC_TOOLS_MPC_DATA_AUGMENT_DERIVEDCOLUMN_H

#include "tools/mpc/data/Column.h"

#include <memory>

namespace mpc::tool {

/// Changes the samples of another column when a batch is gathered.
class DerivedColumn : public Column {
public:
  explicit DerivedColumn(std::shared_ptr<const Column> original)
      : DerivedColumn(original->input, original) {}
  DerivedColumn(const Binding &input, std::shared_ptr<const Column> original)
      : Column(input), original(std::move(original)) {}

  uint64_t numSamples() const override { return original->numSamples(); }
  void prefetch(const SampleBatch &batch) const override {
    original->prefetch(batch);
  }
  bool isSlow() const override { return original->isSlow(); }
  bool ignores(uint64_t row) const override { return original->ignores(row); }
  std::string findNonFinite(const std::vector<uint64_t> &rows,
                            bool infinite) const override {
    return original->findNonFinite(rows, infinite);
  }
  std::string fingerprint() const override { return original->fingerprint(); }

protected:
  const std::shared_ptr<const Column> original;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_AUGMENT_DERIVEDCOLUMN_H
