//===- Mixup.h - Mix the samples of a batch ---------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_AUGMENT_MIXUP_H
#define MPC_TOOLS_MPC_DATA_AUGMENT_MIXUP_H

#include "tools/mpc/data/augment/DerivedColumn.h"
#include "tools/mpc/data/augment/Draws.h"

namespace mpc::tool {

/// Draws from the beta distribution with both parameters `alpha`, from 0.05 to
/// 4.
double drawBeta(Draws &draws, double alpha);

/// Mixes each sample of a batch with the one before it, as torchvision's MixUp
/// does: r x[i] + (1 - r) x[i - 1], with one r from Beta(alpha, alpha) for the
/// batch. The column of every input mixes in the same way (Zhang et al., 2018).
class MixedColumn : public DerivedColumn {
public:
  MixedColumn(std::shared_ptr<const Column> original, double alpha)
      : DerivedColumn(std::move(original)), alpha(alpha) {}

  void gather(const SampleBatch &batch, char *to) const override;

private:
  const double alpha;
};

/// Throws a Failure unless all inputs that have samples are f32, so that they
/// can be mixed.
void requireMixable(const std::string &option,
                    const std::vector<Binding> &inputs);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_AUGMENT_MIXUP_H
