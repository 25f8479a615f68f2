//===- Dropout.cpp - Import of dropout ------------------------------------===//

#include "compiler/Import/Ops/Layers/Dropout.h"

using namespace mlir;
using namespace mpc;

/// The ratio of input `i`, which must be known; 0.5 without one.
static double ratioOf(ImportedNode &node, unsigned i) {
  double ratio = node.hasInput(i) ? node.knownScalar(i) : 0.5;
  if (!node.failed() && !(ratio >= 0.0 && ratio < 1.0))
    node.error() << "the ratio must lie in [0, 1), but is "
                 << std::to_string(ratio);
  return ratio;
}

/// Imports the op as dropout even without training_mode: exporters remove it,
/// and the model is imported for training. Evaluation removes the op. In an own
/// step, the op does what the file says. If the mask is used, dropout becomes a
/// product with the dropout of ones.
LogicalResult mpc::importDropout(ImportedNode &node) {
  Value input = node.floatInput(0);
  double ratio = ratioOf(node, 1);
  bool trains = node.hasInput(2) && node.knownScalar(2) != 0;
  node.intAttr("seed", 0); // There is one seed for the whole run.
  if (node.failed())
    return failure();
  using Form = GraphImporter::Form;
  Form form = node.graph.form;
  if (form == Form::Inference || (form == Form::Exact && !trains))
    ratio = 0;
  bool usesMask = node.isOutputUsed(1);
  if (ratio == 0.0 && !usesMask)
    return node.forwardInput();
  if (!usesMask)
    return node.setOutput(
        0, node.emit<train::DropoutOp>(input, node.f32("ratio", ratio)));
  Value factors = node.emit<train::DropoutOp>(
      node.broadcast(node.scalar(1), shapeOf(input)), node.f32("ratio", ratio));
  Value mask = node.compare(node.scalar(0), factors, train::Comparison::Less);
  if (failed(node.setOutput(1, mask)))
    return failure();
  return node.setOutput(0, node.emit<train::MulOp>({input, factors}));
}

/// The factors of the dropout that computed this mask, if importDropout emitted
/// it.
static Value factorsOf(Value mask) {
  auto compare = mask.getDefiningOp<train::CompareOp>();
  Value factors = compare ? compare.getRhs() : Value();
  return factors && factors.getDefiningOp<train::DropoutOp>() ? factors
                                                              : Value();
}

/// Inputs dY, the mask, the ratio and the mode. Without training the gradient
/// passes unchanged; for a mask of importDropout, it is multiplied by the same
/// factors.
LogicalResult mpc::importDropoutGrad(ImportedNode &node) {
  Value grad = node.floatInput(0), mask = node.input(1);
  double ratio = ratioOf(node, 2);
  node.hasAttr("seed"); // The seed of the forward op is not needed.
  bool trains = !node.hasInput(3) || node.knownScalar(3) != 0;
  if (node.failed())
    return failure();
  if (!getElementTypeOrSelf(mask.getType()).isInteger(1) ||
      shapeOf(mask) != shapeOf(grad))
    return node.shapeError() << "the mask must be bool, and have the "
                                "gradient's shape";
  if (Value factors = factorsOf(mask))
    return node.setOutput(0, node.emit<train::MulOp>({grad, factors}));
  if (!trains || ratio == 0)
    return node.forwardInput();
  Value scaled = node.emit<train::MulOp>({grad, node.scalar(1 / (1 - ratio))});
  return node.setOutput(
      0, node.emit<train::SelectOp>({mask, scaled, node.scalar(0)}));
}
