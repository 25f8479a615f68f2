//===- RowPhases.cpp - Passes over one row of a kernel --------------------===//

#include "compiler/Analysis/RowPhases.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mpc;

bool mpc::isUsedOutside(const KernelDomain &domain, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(user))
      return isUsedOutside(domain, user->getResult(0));
    return llvm::none_of(domain.nodes, [&](const KernelNode &node) {
      linalg::GenericOp op = node.op;
      return op.getOperation() == user;
    });
  });
}

namespace {

class Phases {
public:
  explicit Phases(const KernelDomain &domain) : domain(domain) {
    for (auto [i, node] : llvm::enumerate(domain.nodes))
      for (const KernelAccess &output : node.outputs)
        makers[output.root] = i;
  }

  RowPhases find() const {
    RowPhases phases;
    phases.of.assign(domain.nodes.size(), 0);
    for (auto [i, node] : llvm::enumerate(domain.nodes)) {
      for (const KernelAccess &input : node.inputs) {
        const KernelNode *maker = makerOf(input);
        if (!maker)
          continue;
        const bool afterSum = maker->reduction == KernelReduction::Columns;
        phases.of[i] =
            std::max(phases.of[i], phases.of[makers.at(input.root)] + afterSum);
      }
      if (node.level == KernelLevel::Full)
        phases.count = std::max(phases.count, phases.of[i] + 1);
    }
    return phases;
  }

  /// The inputs that the node reads in its phase, also those of elementwise
  /// nodes that are computed for it.
  void addInputs(const KernelNode &node,
                 SmallVectorImpl<const KernelAccess *> &inputs) const {
    for (const KernelAccess &input : node.inputs) {
      const KernelNode *maker = makerOf(input);
      if (maker && maker->level == KernelLevel::Full &&
          maker->reduction == KernelReduction::None)
        addInputs(*maker, inputs);
      else if (!maker && !input.root.getDefiningOp<arith::ConstantOp>() &&
               input.strides.back() == 1 &&
               llvm::none_of(inputs, [&](const KernelAccess *other) {
                 return other->sameElement(input);
               }))
        inputs.push_back(&input);
    }
  }

private:
  const KernelNode *makerOf(const KernelAccess &input) const {
    auto maker = makers.find(input.root);
    return maker == makers.end() ? nullptr : &domain.nodes[maker->second];
  }

  const KernelDomain &domain;
  DenseMap<Value, unsigned> makers;
};

} // namespace

RowPhases mpc::findRowPhases(const KernelDomain &domain) {
  return Phases(domain).find();
}

SmallVector<const KernelAccess *>
mpc::findRereadInputs(const KernelDomain &domain) {
  if (domain.columnBegin == domain.sizes.size())
    return {};
  const Phases finder(domain);
  const RowPhases phases = finder.find();
  SmallVector<SmallVector<const KernelAccess *>> read(phases.count);
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    const bool isStored =
        llvm::any_of(node.outputs, [&](const KernelAccess &output) {
          return isUsedOutside(domain, output.root);
        });
    if (node.level == KernelLevel::Full &&
        (isStored || node.reduction != KernelReduction::None))
      finder.addInputs(node, read[phases.of[i]]);
  }
  SmallVector<const KernelAccess *> several;
  auto contains = [](ArrayRef<const KernelAccess *> list,
                     const KernelAccess &input) {
    return llvm::any_of(list, [&](const KernelAccess *other) {
      return other->sameElement(input);
    });
  };
  for (unsigned phase = 1; phase < phases.count; ++phase)
    for (const KernelAccess *input : read[phase])
      if (!contains(several, *input) &&
          llvm::any_of(ArrayRef(read).take_front(phase), [&](const auto &list) {
            return contains(list, *input);
          }))
        several.push_back(input);
  return several;
}
