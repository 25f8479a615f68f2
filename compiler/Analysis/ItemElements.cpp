//===- ItemElements.cpp - What the items of a kernel access
//------------------===//

#include "compiler/Analysis/ItemElements.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;

namespace {

/// How many elements lie between the first ones of two successive items, if
/// items access nothing beyond; 0 if not.
int64_t findElements(const KernelAccess &access, const KernelDomain &domain,
                     const LaunchShape &shape) {
  if (access.offset != 0)
    return 0;
  const unsigned last = shape.itemDims - 1;
  int64_t step = access.strides[last];
  for (int64_t d = last, expected = step; d > 0; --d) {
    expected *= domain.sizes[d];
    if (access.strides[d - 1] != expected)
      return 0;
  }
  int64_t within = 1;
  for (unsigned d = shape.itemDims; d < domain.sizes.size(); ++d) {
    if (access.strides[d] < 0)
      return 0;
    within += (domain.sizes[d] - 1) * access.strides[d];
  }
  return within <= step ? step * shape.itemRun : 0;
}

/// Collects what the ops of a kernel access of one operand.
class OperandItems {
public:
  void add(int64_t found) {
    elements = isKnown && elements != found ? 0 : found;
    isKnown = true;
  }
  /// Elements of an item, if the items have all those of `type`; otherwise 0.
  int64_t ofAll(RankedTensorType type, int64_t items) const {
    const bool isDivided =
        elements > 0 && llvm::divideCeil(type.getNumElements(), elements) ==
                            static_cast<uint64_t>(items);
    return isDivided ? elements : 0;
  }

private:
  bool isKnown = false;
  int64_t elements = 0;
};

} // namespace

std::optional<SmallVector<int64_t>>
mpc::elementsOfItems(func::FuncOp kernel, const KernelDomain &domain,
                     const LaunchShape &shape) {
  if (shape.itemDims == 0 || shape.itemDims > domain.sizes.size())
    return std::nullopt;
  SmallVector<Value> roots(kernel.getArguments());
  for (Value result : kernel.getBody().front().getTerminator()->getOperands())
    roots.push_back(memoryRoot(result));
  llvm::DenseMap<Value, OperandItems> found;
  for (const KernelNode &node : domain.nodes) {
    for (ArrayRef<KernelAccess> accesses :
         {ArrayRef(node.inputs), ArrayRef(node.outputs)})
      for (const KernelAccess &access : accesses)
        found[access.root].add(findElements(access, domain, shape));
    for (Value read : node.reads) // At computed places.
      found[read].add(0);
  }
  SmallVector<int64_t> elements;
  for (auto [i, root] : llvm::enumerate(roots)) {
    elements.push_back(found.lookup(root).ofAll(
        cast<RankedTensorType>(root.getType()), shape.items));
    const bool isWritten = i >= kernel.getNumArguments();
    if (isWritten && elements.back() == 0)
      return std::nullopt;
  }
  return elements;
}
