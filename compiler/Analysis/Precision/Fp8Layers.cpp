//===- Fp8Layers.cpp - Linear layers, forward and backward ----------------===//

#include "compiler/Analysis/Precision/Fp8Layers.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Train/IR/Views.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mpc;

SmallVector<train::ContractionOpInterface> LinearLayer::products() const {
  SmallVector<train::ContractionOpInterface> all = {forward};
  llvm::append_range(all, backward);
  return all;
}

llvm::DenseSet<Value> mpc::findGradients(func::FuncOp func) {
  llvm::DenseSet<Value> gradients;
  for (Operation &op : func.front())
    if (op.hasAttr(kLossSeedAttr) ||
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return gradients.contains(operand);
        }))
      gradients.insert(op.result_begin(), op.result_end());
  return gradients;
}

bool mpc::isWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<amp::CastOp>(op) && !train::rearranges(op))
      break;
    value = op->getOperand(0);
  }
  return getWeightState(value) != nullptr;
}

SmallVector<LinearLayer>
mpc::findLinearLayers(func::FuncOp func,
                      const llvm::DenseSet<Value> &gradients) {
  llvm::MapVector<StringRef, LinearLayer> layers;
  for (auto op : func.front().getOps<train::ContractionOpInterface>()) {
    std::optional<StringRef> layer = op.getLayer();
    if (!layer || !llvm::all_of(op->getOperandTypes(), isLowTensor))
      continue;
    StringRef name = *layer;
    if (gradients.contains(op->getResult(0))) {
      if (layers.contains(name))
        layers[name].backward.push_back(op);
      continue;
    }
    // A node with more than one product is not a layer.
    if (isWeight(op->getOperand(0)) != isWeight(op->getOperand(1)) &&
        !layers.insert({name, {name.str(), op, {}}}).second)
      layers[name].forward = nullptr;
  }
  SmallVector<LinearLayer> found;
  for (auto &[name, layer] : layers)
    if (layer.forward)
      found.push_back(std::move(layer));
  return found;
}

std::optional<amp::Decision> mpc::whyNotFp8(const LinearLayer &layer) {
  if (layer.backward.empty())
    return amp::Decision{Rule::Fp8Untrained};
  for (train::ContractionOpInterface product : layer.products()) {
    auto [rows, sum, columns] = product.getExtents();
    if (rows == 0)
      return amp::Decision{Rule::Fp8Batches};
    if (rows % 16 != 0 || sum % 16 != 0 || columns % 16 != 0) {
      Builder builder(product.getContext());
      return amp::Decision{Rule::Fp8Extents,
                           {builder.getI64IntegerAttr(rows),
                            builder.getI64IntegerAttr(sum),
                            builder.getI64IntegerAttr(columns)}};
    }
  }
  return std::nullopt;
}

/// The tensor behind casts and views: products that read it in any of these
/// forms share one FP8 copy.
static Value roundedOnce(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<amp::CastOp>(op) && !train::isReshape(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Nanoseconds to round `tensors`, and to transpose those that need it: 2 bytes
/// per element become 1, which is then copied. The launches include the kernels
/// of one block that compute the largest magnitude and the scale. Unscaling
/// costs nothing extra: the products do it, with factors that one kernel
/// computes from all scales.
static double timeOfRounding(const llvm::MapVector<Value, bool> &tensors,
                             const Machine &machine) {
  double time = 0;
  for (auto [tensor, isTransposed] : tensors) {
    double elements = cast<RankedTensorType>(tensor.getType()).getNumElements();
    time += elements * 3 / machine.bytes + 2 * machine.launch;
    if (isTransposed)
      time += elements * 2 / machine.transposedBytes + machine.launch;
  }
  return time;
}

double mpc::timeSavedByFp8(const LinearLayer &layer, const Machine &machine) {
  double saved = 0;
  llvm::MapVector<Value, bool> tensors; ///< True if one must be transposed.
  for (train::ContractionOpInterface product : layer.products()) {
    auto [rows, sum, columns] = product.getExtents();
    double work = 2.0 * rows * sum * columns;
    saved += work / machine.bf16 - work / machine.fp8;
    // The products read one byte per element of each operand instead of two.
    saved += (1.0 * rows * sum + 1.0 * sum * columns) / machine.bytes;
    // Both factors must be contiguous along the sum.
    for (OpOperand &factor : product->getOpOperands())
      tensors[roundedOnce(factor.get())] |=
          !product.isContiguousAlongSum(factor.getOperandNumber());
  }
  return saved - timeOfRounding(tensors, machine);
}
