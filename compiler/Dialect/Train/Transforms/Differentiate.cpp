//===- Differentiate.cpp - Reverse-mode gradients of train ----------------===//
//
// A value is active if it depends on an x and a y depends on it, both through
// floats and not through ops that stop gradients. Only active values get a
// gradient.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Transforms/Differentiate.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-differentiate"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

namespace {

/// Emits gradient ops for one block.
class Backward {
public:
  explicit Backward(OpBuilder &builder) : builder(builder) {}

  /// Determines which values are active.
  void trace(ValueRange ys, ValueRange xs);
  /// Reports all active ops without a gradient in one error.
  LogicalResult checkDifferentiable(Location loc, StringRef path);
  /// Adds to the gradient of `value`.
  void add(Value value, Value gradient);
  /// Emits the gradients of all active ops.
  LogicalResult run();
  /// Calls `visit` with the results of active ops that have a gradient, in
  /// order.
  void visitAll(function_ref<void(Value, Value)> visit) const {
    for (Operation *op : llvm::reverse(ops))
      for (Value result : op->getResults())
        if (Value gradient = gradientOf(result))
          visit(result, gradient);
  }

  Value gradientOf(Value value) const {
    return isActive(value) ? gradients.lookup(value) : Value();
  }

private:
  bool isActive(Value value) const {
    return varied.contains(value) && useful.contains(value);
  }
  LogicalResult visit(Operation *op);

  OpBuilder &builder;
  SmallVector<Operation *> ops; ///< With an active result, in reverse order.
  llvm::DenseSet<Value> varied; ///< Depends on an x.
  llvm::DenseSet<Value> useful; ///< A y depends on it.
  llvm::DenseMap<Value, Value> gradients;
};

} // namespace

void Backward::trace(ValueRange ys, ValueRange xs) {
  auto before = llvm::make_range(builder.getBlock()->begin(),
                                 builder.getInsertionPoint());
  for (Value x : xs)
    if (isFloat(x))
      varied.insert(x);
  for (Operation &op : before)
    if (!op.hasTrait<StopsGradient>() &&
        llvm::any_of(op.getOperands(),
                     [&](Value value) { return varied.contains(value); }))
      for (Value result : op.getResults())
        if (isFloat(result))
          varied.insert(result);

  useful.insert(ys.begin(), ys.end());
  for (Operation &op : llvm::reverse(before)) {
    if (!op.hasTrait<StopsGradient>() &&
        llvm::any_of(op.getResults(),
                     [&](Value value) { return useful.contains(value); }))
      useful.insert(op.operand_begin(), op.operand_end());
    if (llvm::any_of(op.getResults(),
                     [&](Value value) { return isActive(value); }))
      ops.push_back(&op);
  }
}

/// "'fc1' (Gemm)", or the op's own name if no node is known.
static std::string nodeText(Operation *op) {
  StringRef name = nodeName(op->getLoc()), type = nodeType(op->getLoc());
  if (name.empty())
    return "'" + op->getName().getStringRef().str() + "'";
  return ("'" + name + "' (" +
          (type.empty() ? op->getName().getStringRef() : type) + ")")
      .str();
}

LogicalResult Backward::checkDifferentiable(Location loc, StringRef path) {
  SmallVector<Operation *> missing;
  for (Operation *op : llvm::reverse(ops))
    if (!isa<DifferentiableOpInterface>(op) &&
        llvm::any_of(op->getOperands(),
                     [&](Value value) { return isActive(value); }))
      missing.push_back(op);
  if (missing.empty())
    return success();
  InFlightDiagnostic error = emitError(loc)
                             << "between " << path
                             << ", these nodes have no gradient: ";
  llvm::interleaveComma(missing, error,
                        [&](Operation *op) { error << nodeText(op); });
  for (Operation *op : missing)
    error.attachNote(op->getLoc())
        << nodeText(op)
        << " has no gradient; freeze the parameters that feed it or remove it";
  return error;
}

void Backward::add(Value value, Value gradient) {
  Value &sum = gradients[value];
  sum = sum ? AddOp::create(builder, gradientLoc(value.getLoc()), sum, gradient)
                  .getResult()
            : gradient;
}

/// Emits the gradient of one op from the gradients of its results.
LogicalResult Backward::visit(Operation *op) {
  SmallVector<Value> results;
  for (Value result : op->getResults())
    results.push_back(gradients.lookup(result));
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(isActive(operand));
  if (llvm::none_of(results, [](Value value) { return bool(value); }) ||
      !llvm::is_contained(needed, true))
    return success();

  LDBG() << "differentiating " << *op;
  SmallVector<Value> operands(op->getNumOperands());
  auto differentiable = cast<DifferentiableOpInterface>(op);
  if (failed(differentiable.buildGradient(builder, results, needed, operands)))
    return failure();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!needed[i])
      continue;
    if (!operands[i] ||
        !haveSameShapes(operand.getType(), operands[i].getType()))
      return op->emitError("internal error in mpc-differentiate: the gradient "
                           "of an operand is missing or has another shape");
    add(operand, operands[i]);
  }
  return success();
}

/// Continues after a failure, so that all failures are reported in one run.
LogicalResult Backward::run() {
  bool complete = true;
  for (Operation *op : ops)
    complete &= succeeded(visit(op));
  return success(complete);
}

FailureOr<SmallVector<Value>>
mpc::train::differentiate(OpBuilder &builder, ValueRange ys, ValueRange dys,
                          ValueRange xs, Location loc, StringRef path,
                          function_ref<void(Value, Value)> visit) {
  assert(ys.size() == dys.size() && "a gradient arrives at every y");
  Backward backward(builder);
  backward.trace(ys, xs);
  if (failed(backward.checkDifferentiable(loc, path)))
    return failure();
  for (auto [y, dy] : llvm::zip_equal(ys, dys)) {
    assert(y.getType() == dy.getType() && "and has its type");
    backward.add(y, dy);
  }
  if (failed(backward.run()))
    return failure();
  if (visit)
    backward.visitAll(visit);
  return llvm::map_to_vector(xs,
                             [&](Value x) { return backward.gradientOf(x); });
}

FailureOr<SmallVector<Value>>
mpc::train::differentiateSum(OpBuilder &builder, Value y, ValueRange xs,
                             Location loc, StringRef path, Operation **seed) {
  Location gradient = gradientLoc(y.getLoc());
  Value one = createScalarLike(builder, gradient, y, 1.0);
  if (seed)
    *seed = one.getDefiningOp();
  auto type = cast<RankedTensorType>(y.getType());
  if (type.getRank() > 0)
    one = BroadcastToOp::create(builder, gradient, type, one);
  auto gradients = differentiate(builder, y, one, xs, loc, path);
  if (failed(gradients))
    return failure();
  for (auto [x, result] : llvm::zip_equal(xs, *gradients))
    if (!result) {
      Value zero = createScalarLike(builder, loc, x, 0.0);
      result = BroadcastToOp::create(builder, loc, x.getType(), zero);
    }
  return gradients;
}
