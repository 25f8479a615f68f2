//===- Interpreter.cpp - f64 interpreter of linalg ops --------------------===//

#include "compiler/Reference/Interpreter.h"

#include "compiler/Analysis/KernelDomain.h"
#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"
#include "compiler/Reference/ScalarCode.h"
#include "compiler/Support/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::reference;

static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  const int64_t a = evaluate(binary.getLHS(), dims),
                b = evaluate(binary.getRHS(), dims);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(a, b);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(a, b);
  default:
    return llvm::mod(a, b);
  }
}

namespace {

/// Maps the points of a loop nest to the elements of an operand.
class Places {
public:
  Places(AffineMap map, RankedTensorType type) : map(map), type(type) {}

  int64_t at(ArrayRef<int64_t> dims) const {
    int64_t place = 0;
    for (auto [expr, extent] : llvm::zip(map.getResults(), type.getShape()))
      place = place * extent + evaluate(expr, dims);
    return place;
  }

private:
  AffineMap map;
  RankedTensorType type;
};

} // namespace

/// The tensor whose memory `value` is; created here for constants, fills and
/// empty tensors.
llvm::Expected<HostTensor *> Interpreter::tensor(Value value) {
  Value root = memoryRoot(value);
  Shared &found = values[root];
  if (found)
    return found.get();
  auto type = cast<RankedTensorType>(root.getType());
  if (auto constant = root.getDefiningOp<arith::ConstantOp>()) {
    found = std::make_shared<HostTensor>(
        HostTensor::of(cast<ElementsAttr>(constant.getValue())));
  } else if (auto fill = root.getDefiningOp<linalg::FillOp>()) {
    found = std::make_shared<HostTensor>(HostTensor::zeros(type));
    auto number = fill.getInputs()[0].getDefiningOp<arith::ConstantOp>();
    std::fill(found->elements.begin(), found->elements.end(),
              elementOf(number.getValue()));
  } else if (root.getDefiningOp<tensor::EmptyOp>()) {
    found = std::make_shared<HostTensor>(HostTensor::zeros(type));
  } else {
    return llvm::createStringError("a value is read that nothing computed");
  }
  return found.get();
}

void Interpreter::set(Value value, HostTensor tensor) {
  values[value] = std::make_shared<HostTensor>(std::move(tensor));
}

llvm::Error Interpreter::runGeneric(linalg::GenericOp op) {
  llvm::Expected<ScalarCode> code = ScalarCode::compile(op);
  if (!code)
    return code.takeError();
  const SmallVector<int64_t> loops = op.getStaticLoopRanges();
  const unsigned inputs = op.getNumDpsInputs();
  SmallVector<HostTensor *> operands;
  for (Value operand : op->getOperands()) {
    llvm::Expected<HostTensor *> found = tensor(operand);
    if (!found)
      return found.takeError();
    operands.push_back(*found);
  }
  // Results start as copies of their inits.
  SmallVector<HostTensor> results;
  for (unsigned k = inputs; k < operands.size(); ++k) {
    results.push_back(*operands[k]);
    operands[k] = &results.back();
  }
  for (unsigned k = 0; k < results.size(); ++k)
    operands[inputs + k] = &results[k];
  SmallVector<Places> places;
  for (auto [map, operand] :
       llvm::zip(op.getIndexingMapsArray(), op->getOperands()))
    places.emplace_back(map, cast<RankedTensorType>(operand.getType()));

  // Tensors that bodies read at computed places must exist before they run.
  llvm::Error missing = llvm::Error::success();
  op.getBody()->walk([&](tensor::ExtractOp read) {
    llvm::Expected<HostTensor *> found = tensor(read.getTensor());
    if (!found)
      missing = llvm::joinErrors(std::move(missing), found.takeError());
  });
  if (missing)
    return missing;
  auto lookup = [&](Value value) -> const HostTensor & {
    return *values.at(memoryRoot(value));
  };

  int64_t total = 1;
  for (int64_t extent : loops)
    total *= extent;
  // In a reduction, a point reads what the previous point wrote, unless that is
  // only accumulated.
  const bool reduces = op.getNumReductionLoops() > 0;
  const unsigned lanes = reduces && !code->addedSlot ? 1 : code->lanes();
  ScalarCode::Points points;
  points.dims.resize(loops.size());
  std::vector<Element> slots = code->makeSlots();
  SmallVector<int64_t> dims(loops.size());
  std::vector<int64_t> at(lanes);
  for (auto &dim : points.dims)
    dim.resize(lanes);
  for (int64_t first = 0; first < total; first += lanes) {
    points.count = std::min<int64_t>(lanes, total - first);
    for (unsigned i = 0; i < points.count; ++i) {
      int64_t rest = first + i;
      for (unsigned d = loops.size(); d-- > 0; rest /= loops[d])
        points.dims[d][i] = dims[d] = rest % loops[d];
      for (unsigned k = 0; k < operands.size(); ++k)
        code->argument(slots, k)[i] = operands[k]->elements[places[k].at(dims)];
      at[i] = places.empty() ? 0 : places.back().at(dims);
    }
    if (llvm::Error error = code->run(points, lookup, slots))
      return error;
    for (unsigned i = 0; i < points.count; ++i) {
      if (code->addedSlot) {
        code->accumulate(results[0].elements[at[i]], code->added(slots)[i]);
        continue;
      }
      for (unsigned k = 0; k < results.size(); ++k) {
        for (unsigned d = 0; d < loops.size(); ++d)
          dims[d] = points.dims[d][i];
        results[k].elements[places[inputs + k].at(dims)] =
            code->yielded(slots, k)[i];
      }
    }
  }
  for (auto [value, result] : llvm::zip(op.getResults(), results))
    set(value, std::move(result));
  return llvm::Error::success();
}

llvm::Error Interpreter::runKernel(train::KernelOpInterface op) {
  if (!kernels)
    return llvm::createStringError("nothing here runs kernels of the catalog");
  SmallVector<HostTensor> views;
  for (Value operand : op->getOperands()) {
    llvm::Expected<HostTensor *> found = tensor(operand);
    if (!found)
      return found.takeError();
    views.push_back(**found);
    views.back().type = cast<RankedTensorType>(operand.getType());
  }
  SmallVector<const HostTensor *> operands;
  for (const HostTensor &view : views)
    operands.push_back(&view);
  SmallVector<HostTensor> results;
  for (Type type : op->getResultTypes())
    results.push_back(HostTensor::zeros(cast<RankedTensorType>(type)));
  if (llvm::Error error = kernels(op, operands, results))
    return error;
  for (auto [value, result] : llvm::zip(op->getResults(), results))
    set(value, std::move(result));
  return llvm::Error::success();
}

llvm::Error Interpreter::run(Operation &op) {
  // These are looked through, or created when they are read.
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::EmptyOp,
          linalg::FillOp, arith::ConstantOp>(op))
    return llvm::Error::success();
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return runGeneric(generic);
  if (auto kernel = dyn_cast<train::KernelOpInterface>(op))
    return runKernel(kernel);
  if (auto read = dyn_cast<train::ReadOp>(op)) {
    auto state = states.find(read.getState().str());
    if (state == states.end())
      return llvm::createStringError("there is no state '%s'",
                                     read.getState().str().c_str());
    set(read, state->second);
    return llvm::Error::success();
  }
  SmallVector<HostTensor *> operands;
  for (Value operand : op.getOperands()) {
    llvm::Expected<HostTensor *> found = tensor(operand);
    if (!found)
      return found.takeError();
    operands.push_back(*found);
  }
  if (auto write = dyn_cast<train::WriteOp>(op)) {
    HostTensor value = *operands[0];
    value.type = cast<RankedTensorType>(write.getValue().getType());
    written[write.getState().str()] = std::move(value);
  } else if (auto unpack = dyn_cast<train::UnpackOp>(op)) {
    auto type = cast<RankedTensorType>(unpack.getType());
    auto begin = operands[0]->elements.begin() + unpack.getOffset();
    set(unpack, {type, {begin, begin + type.getNumElements()}});
  } else if (auto pack = dyn_cast<train::PackOp>(op)) {
    HostTensor whole =
        HostTensor::zeros(cast<RankedTensorType>(pack.getType()));
    for (auto [part, offset] : llvm::zip(operands, pack.getOffsets()))
      llvm::copy(part->elements, whole.elements.begin() + offset);
    set(pack, std::move(whole));
  } else if (auto barrier = dyn_cast<train::RematBarrierOp>(op)) {
    set(barrier, *operands[0]);
  } else {
    return llvm::createStringError("the interpreter does not know '%s'",
                                   op.getName().getStringRef().str().c_str());
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<HostTensor>>
Interpreter::run(func::FuncOp func, std::vector<HostTensor> arguments) {
  values.clear();
  written.clear();
  Block &body = func.getBody().front();
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    set(argument, std::move(value));
  // Find the last use of each value.
  DenseMap<Operation *, SmallVector<Value>> lastReads;
  llvm::DenseSet<Value> seen;
  for (Operation &op : llvm::reverse(body)) {
    auto reads = [&](Value value) {
      Value root = memoryRoot(value);
      if (root.getParentBlock() == &body && seen.insert(root).second)
        lastReads[&op].push_back(root);
    };
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (isa<RankedTensorType>(operand.getType()))
          reads(operand);
    });
  }
  for (Operation &op : body.without_terminator()) {
    if (llvm::Error error = run(op))
      return llvm::createStringError("'%s' (%s): %s",
                                     nodeName(op.getLoc()).str().c_str(),
                                     op.getName().getStringRef().str().c_str(),
                                     llvm::toString(std::move(error)).c_str());
    for (Value value : lastReads.lookup(&op))
      values.erase(value);
  }
  std::vector<HostTensor> results;
  for (Value value : body.getTerminator()->getOperands()) {
    llvm::Expected<HostTensor *> found = tensor(value);
    if (!found)
      return found.takeError();
    results.push_back(**found);
    results.back().type = cast<RankedTensorType>(value.getType());
  }
  for (auto &[name, value] : written)
    states[name] = std::move(value);
  values.clear();
  return results;
}
