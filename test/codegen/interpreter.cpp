//===- interpreter.cpp - linalg.generic, one element after the other ------===//

#include "test/codegen/harness.h"

#include "compiler/Analysis/KernelDomain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

double mpc::test::roundTo(Type element, double value) {
  if (element.isF32())
    return float(value);
  auto type = dyn_cast<FloatType>(element);
  if (!type || type.isF64())
    return value;
  APFloat number(value);
  bool loses;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &loses);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

/// A float or an integer. Integers are as wide as their type, sign-extended;
/// booleans are 0 and 1.
struct Scalar {
  double real = 0;
  int64_t whole = 0;
};

static unsigned widthOf(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

static Scalar wholeOf(Type type, uint64_t bits) {
  unsigned width = widthOf(type);
  if (width == 1)
    return {0, int64_t(bits & 1)};
  return {0, int64_t(bits << (64 - width)) >> (64 - width)};
}

/// As tensors hold it.
static Scalar scalarOf(Type type, double value) {
  return isa<FloatType>(type) ? Scalar{value, 0}
                              : wholeOf(type, uint64_t(int64_t(value)));
}
static double elementOf(Type type, Scalar value) {
  return isa<FloatType>(type) ? value.real : double(value.whole);
}

static Scalar constantOf(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return {number.getValueAsDouble(), 0};
  auto integer = cast<IntegerAttr>(value);
  return wholeOf(integer.getType(), integer.getValue().getZExtValue());
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return a != b;
  case P::UNO:
    return unordered;
  default:
    return predicate == P::AlwaysTrue;
  }
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  uint64_t ua = a, ub = b;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::ult:
    return ua < ub;
  case P::sle:
    return a <= b;
  case P::ule:
    return ua <= ub;
  case P::sgt:
    return a > b;
  case P::ugt:
    return ua > ub;
  case P::sge:
    return a >= b;
  case P::uge:
    return ua >= ub;
  }
  return false;
}

static double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}

/// An op on floats alone.
static double evaluateReal(Operation &op, ArrayRef<double> x) {
  return llvm::TypeSwitch<Operation *, double>(&op)
      .Case([&](arith::AddFOp) { return x[0] + x[1]; })
      .Case([&](arith::SubFOp) { return x[0] - x[1]; })
      .Case([&](arith::MulFOp) { return x[0] * x[1]; })
      .Case([&](arith::DivFOp) { return x[0] / x[1]; })
      .Case([&](arith::NegFOp) { return -x[0]; })
      .Case([&](arith::MaximumFOp) { return maximum(x[0], x[1]); })
      .Case([&](arith::MaxNumFOp) { return std::fmax(x[0], x[1]); })
      .Case([&](arith::MinimumFOp) { return -maximum(-x[0], -x[1]); })
      .Case([&](arith::TruncFOp cast) { return roundTo(cast.getType(), x[0]); })
      .Case([&](arith::ExtFOp) { return x[0]; })
      .Case([&](math::ExpOp) { return std::exp(x[0]); })
      .Case([&](math::Exp2Op) { return std::exp2(x[0]); })
      .Case([&](math::LogOp) { return std::log(x[0]); })
      .Case([&](math::Log1pOp) { return std::log1p(x[0]); })
      .Case([&](math::ExpM1Op) { return std::expm1(x[0]); })
      .Case([&](math::SinOp) { return std::sin(x[0]); })
      .Case([&](math::CosOp) { return std::cos(x[0]); })
      .Case([&](math::AtanOp) { return std::atan(x[0]); })
      .Case([&](math::FloorOp) { return std::floor(x[0]); })
      .Case([&](math::CeilOp) { return std::ceil(x[0]); })
      .Case([&](math::RoundEvenOp) { return std::nearbyint(x[0]); })
      .Case([&](math::TanhOp) { return std::tanh(x[0]); })
      .Case([&](math::ErfOp) { return std::erf(x[0]); })
      .Case([&](math::SqrtOp) { return std::sqrt(x[0]); })
      .Case([&](math::RsqrtOp) { return 1 / std::sqrt(x[0]); })
      .Case([&](math::AbsFOp) { return std::fabs(x[0]); })
      .Case([&](math::PowFOp) { return std::pow(x[0], x[1]); })
      .Case([&](math::CopySignOp) { return std::copysign(x[0], x[1]); })
      .Case([&](math::FmaOp) { return x[0] * x[1] + x[2]; })
      .Default([](Operation *other) {
        ADD_FAILURE() << "the evaluator does not know "
                      << other->getName().getStringRef().str();
        return 0.0;
      });
}

/// An op on integers alone; unsigned, for which overflow has a meaning.
static uint64_t evaluateWhole(Operation &op, ArrayRef<uint64_t> x) {
  uint64_t all = ~uint64_t(0) >> (64 - widthOf(op.getOperand(0).getType()));
  return llvm::TypeSwitch<Operation *, uint64_t>(&op)
      .Case([&](arith::AddIOp) { return x[0] + x[1]; })
      .Case([&](arith::SubIOp) { return x[0] - x[1]; })
      .Case([&](arith::MulIOp) { return x[0] * x[1]; })
      .Case([&](arith::AndIOp) { return x[0] & x[1]; })
      .Case([&](arith::OrIOp) { return x[0] | x[1]; })
      .Case([&](arith::XOrIOp) { return x[0] ^ x[1]; })
      .Case([&](arith::MinSIOp) {
        return std::min(int64_t(x[0]), int64_t(x[1]));
      })
      .Case([&](arith::MaxSIOp) {
        return std::max(int64_t(x[0]), int64_t(x[1]));
      })
      .Case([&](arith::DivSIOp) { return int64_t(x[0]) / int64_t(x[1]); })
      .Case([&](arith::RemSIOp) { return int64_t(x[0]) % int64_t(x[1]); })
      .Case([&](arith::ShLIOp) { return x[0] << x[1]; })
      .Case([&](arith::ShRUIOp) { return (x[0] & all) >> x[1]; })
      .Case<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>(
          [&](auto) { return x[0]; })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>(
          [&](auto) { return x[0] & all; })
      .Default([](Operation *other) {
        ADD_FAILURE() << "the evaluator does not know "
                      << other->getName().getStringRef().str();
        return 0;
      });
}

/// One scalar op; operands in `x`.
static Scalar evaluate(Operation &op, ArrayRef<Scalar> x) {
  Type type = op.getResult(0).getType();
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return {0, compare(cmp.getPredicate(), x[0].real, x[1].real)};
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return {0, compare(cmp.getPredicate(), x[0].whole, x[1].whole)};
  if (isa<arith::SelectOp>(op))
    return x[0].whole != 0 ? x[1] : x[2];
  if (isa<arith::SIToFPOp>(op))
    return {roundTo(type, double(x[0].whole)), 0};
  if (isa<arith::UIToFPOp>(op)) {
    uint64_t all = ~uint64_t(0) >> (64 - widthOf(op.getOperand(0).getType()));
    return {roundTo(type, double(uint64_t(x[0].whole) & all)), 0};
  }
  if (isa<arith::FPToSIOp>(op))
    return wholeOf(type, uint64_t(int64_t(x[0].real)));
  if (isa<FloatType>(type)) {
    SmallVector<double> reals;
    for (Scalar operand : x)
      reals.push_back(operand.real);
    return {evaluateReal(op, reals), 0};
  }
  SmallVector<uint64_t> wholes;
  for (Scalar operand : x)
    wholes.push_back(operand.whole);
  return wholeOf(type, evaluateWhole(op, wholes));
}

static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t a = evaluate(binary.getLHS(), dims),
          b = evaluate(binary.getRHS(), dims);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  default:
    return a % b;
  }
}

static int64_t elementAt(AffineMap map, ArrayRef<int64_t> dims, Type type) {
  int64_t index = 0;
  for (auto [expr, size] :
       llvm::zip(map.getResults(), cast<RankedTensorType>(type).getShape()))
    index = index * size + evaluate(expr, dims);
  return index;
}

namespace {
struct Interpreter {
  DenseMap<Value, Elements> tensors; ///< By memory root.

  Elements &tensor(Value value) {
    Value root = memoryRoot(value);
    auto found = tensors.find(root);
    if (found != tensors.end())
      return found->second;
    int64_t count = cast<RankedTensorType>(root.getType()).getNumElements();
    Type type = getElementTypeOrSelf(root.getType());
    double first = 0;
    if (auto constant = root.getDefiningOp<arith::ConstantOp>())
      first =
          elementOf(type, constantOf(*cast<ElementsAttr>(constant.getValue())
                                          .getValues<Attribute>()
                                          .begin()));
    if (auto fill = root.getDefiningOp<linalg::FillOp>())
      first = elementOf(type, constantOf(fill.getInputs()[0]
                                             .getDefiningOp<arith::ConstantOp>()
                                             .getValue()));
    return tensors[root] = Elements(count, first);
  }

  /// The ops of a body, or of a loop or branch in it; returns what it yields.
  SmallVector<Scalar> run(Block &block, ArrayRef<int64_t> dims,
                          DenseMap<Value, Scalar> &scalars) {
    auto lookup = [&](Value value) {
      if (auto constant = value.getDefiningOp<arith::ConstantOp>())
        return constantOf(constant.getValue());
      return scalars.lookup(value);
    };
    auto all = [&](ValueRange values) {
      return SmallVector<Scalar>(llvm::map_range(values, lookup));
    };
    auto set = [&](ValueRange values, ArrayRef<Scalar> to) {
      for (auto [value, scalar] : llvm::zip_equal(values, to))
        scalars[value] = scalar;
    };
    for (Operation &inner : block.without_terminator()) {
      if (isa<arith::ConstantOp>(inner))
        continue;
      if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
        scalars[index] = {0, dims[index.getDim()]};
      } else if (auto read = dyn_cast<tensor::ExtractOp>(inner)) {
        int64_t element = 0;
        for (auto [index, extent] : llvm::zip_equal(
                 read.getIndices(), read.getTensor().getType().getShape())) {
          int64_t place = lookup(index).whole;
          EXPECT_TRUE(place >= 0 && place < extent) << "reads outside";
          element = element * extent + place;
        }
        scalars[read] =
            scalarOf(read.getType(), tensor(read.getTensor())[element]);
      } else if (auto choice = dyn_cast<scf::IfOp>(inner)) {
        bool holds = lookup(choice.getCondition()).whole != 0;
        set(choice.getResults(),
            run(holds ? *choice.thenBlock() : *choice.elseBlock(), dims,
                scalars));
      } else if (auto loop = dyn_cast<scf::ForOp>(inner)) {
        SmallVector<Scalar> carried = all(loop.getInitArgs());
        int64_t end = lookup(loop.getUpperBound()).whole;
        for (int64_t turn = lookup(loop.getLowerBound()).whole; turn < end;
             turn += lookup(loop.getStep()).whole) {
          scalars[loop.getInductionVar()] = {0, turn};
          set(loop.getRegionIterArgs(), carried);
          carried = run(*loop.getBody(), dims, scalars);
        }
        set(loop.getResults(), carried);
      } else {
        scalars[inner.getResult(0)] = evaluate(inner, all(inner.getOperands()));
      }
    }
    return all(block.getTerminator()->getOperands());
  }

  void run(linalg::GenericOp op) {
    SmallVector<int64_t> loops = op.getStaticLoopRanges();
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    SmallVector<Elements> operands;
    for (Value operand : op->getOperands())
      operands.push_back(tensor(operand));
    unsigned inputs = op.getNumDpsInputs();
    int64_t total = 1;
    for (int64_t size : loops)
      total *= size;
    SmallVector<int64_t> dims(loops.size());
    for (int64_t i = 0; i < total; ++i) {
      int64_t rest = i;
      for (unsigned d = loops.size(); d-- > 0; rest /= loops[d])
        dims[d] = rest % loops[d];
      DenseMap<Value, Scalar> scalars;
      for (unsigned k = 0; k < operands.size(); ++k) {
        Value argument = op.getBody()->getArgument(k);
        scalars[argument] = scalarOf(
            argument.getType(),
            operands[k][elementAt(maps[k], dims, op->getOperand(k).getType())]);
      }
      SmallVector<Scalar> yielded = run(*op.getBody(), dims, scalars);
      for (unsigned k = inputs; k < operands.size(); ++k)
        operands[k][elementAt(maps[k], dims, op->getOperand(k).getType())] =
            elementOf(getElementTypeOrSelf(op->getOperand(k).getType()),
                      yielded[k - inputs]);
    }
    for (auto [k, result] : llvm::enumerate(op.getResults()))
      tensors[result] = operands[inputs + k];
  }
};
} // namespace

std::vector<Elements>
mpc::test::interpret(func::FuncOp kernel, const std::vector<Elements> &inputs) {
  Interpreter interpreter;
  for (auto [argument, input] : llvm::zip(kernel.getArguments(), inputs))
    interpreter.tensors[argument] = input;
  for (auto op : kernel.getOps<linalg::GenericOp>())
    interpreter.run(op);
  std::vector<Elements> results;
  for (Value result : kernel.getBody().front().getTerminator()->getOperands())
    results.push_back(interpreter.tensor(result));
  return results;
}
