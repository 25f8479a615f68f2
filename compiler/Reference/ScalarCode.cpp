//===- ScalarCode.cpp - The compiled body of a linalg op ------------------===//

#include "compiler/Reference/ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpc::reference;

//===----------------------------------------------------------------------===//
// Functions of ops
//===----------------------------------------------------------------------===//

static bool holds(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  const bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
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
  case P::AlwaysTrue:
    return true;
  }
  return false;
}

static bool holds(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  const uint64_t ua = a, ub = b;
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

/// Rounds toward zero. Division by -1 is a negation, which must not overflow
/// for the smallest integer.
static uint64_t quotient(int64_t a, int64_t b) {
  return b == -1 ? -uint64_t(a) : uint64_t(a / b);
}
static uint64_t signedRemainder(int64_t a, int64_t b) {
  return b == -1 ? 0 : uint64_t(a % b);
}

using RealFunction = double (*)(const double *);
using WholeFunction = uint64_t (*)(const uint64_t *);

/// The function of an op on floats; null if it is unknown.
static RealFunction realFunction(Operation *op) {
#define MPC_REAL(Op, formula)                                                  \
  if (isa<Op>(op))                                                             \
  return [](const double *x) -> double { return formula; }
  MPC_REAL(arith::AddFOp, x[0] + x[1]);
  MPC_REAL(arith::SubFOp, x[0] - x[1]);
  MPC_REAL(arith::MulFOp, x[0] * x[1]);
  MPC_REAL(arith::DivFOp, x[0] / x[1]);
  MPC_REAL(arith::NegFOp, -x[0]);
  MPC_REAL(arith::ExtFOp, x[0]);
  MPC_REAL(arith::MaximumFOp, maximum(x[0], x[1]));
  MPC_REAL(arith::MinimumFOp, -maximum(-x[0], -x[1]));
  MPC_REAL(arith::MaxNumFOp, std::fmax(x[0], x[1]));
  MPC_REAL(arith::MinNumFOp, std::fmin(x[0], x[1]));
  MPC_REAL(math::AbsFOp, std::fabs(x[0]));
  MPC_REAL(math::AtanOp, std::atan(x[0]));
  MPC_REAL(math::CeilOp, std::ceil(x[0]));
  MPC_REAL(math::CopySignOp, std::copysign(x[0], x[1]));
  MPC_REAL(math::CosOp, std::cos(x[0]));
  MPC_REAL(math::ErfOp, std::erf(x[0]));
  MPC_REAL(math::Exp2Op, std::exp2(x[0]));
  MPC_REAL(math::ExpM1Op, std::expm1(x[0]));
  MPC_REAL(math::ExpOp, std::exp(x[0]));
  MPC_REAL(math::FloorOp, std::floor(x[0]));
  MPC_REAL(math::FmaOp, std::fma(x[0], x[1], x[2]));
  MPC_REAL(math::Log1pOp, std::log1p(x[0]));
  MPC_REAL(math::LogOp, std::log(x[0]));
  MPC_REAL(math::PowFOp, std::pow(x[0], x[1]));
  MPC_REAL(math::RoundEvenOp, std::nearbyint(x[0]));
  MPC_REAL(math::RsqrtOp, 1 / std::sqrt(x[0]));
  MPC_REAL(math::SinOp, std::sin(x[0]));
  MPC_REAL(math::SqrtOp, std::sqrt(x[0]));
  MPC_REAL(math::TanhOp, std::tanh(x[0]));
  return nullptr;
#undef MPC_REAL
}

/// The same for integers, which wrap around. Operands are sign-extended, except
/// for the ops that `readsUnsigned` lists.
static WholeFunction wholeFunction(Operation *op) {
#define MPC_WHOLE(Op, formula)                                                 \
  if (isa<Op>(op))                                                             \
  return [](const uint64_t *x) -> uint64_t { return formula; }
  MPC_WHOLE(arith::AddIOp, x[0] + x[1]);
  MPC_WHOLE(arith::SubIOp, x[0] - x[1]);
  MPC_WHOLE(arith::MulIOp, x[0] * x[1]);
  MPC_WHOLE(arith::AndIOp, x[0] & x[1]);
  MPC_WHOLE(arith::OrIOp, x[0] | x[1]);
  MPC_WHOLE(arith::XOrIOp, x[0] ^ x[1]);
  MPC_WHOLE(arith::MinSIOp, std::min(int64_t(x[0]), int64_t(x[1])));
  MPC_WHOLE(arith::MaxSIOp, std::max(int64_t(x[0]), int64_t(x[1])));
  MPC_WHOLE(arith::DivSIOp, quotient(x[0], x[1]));
  MPC_WHOLE(arith::RemSIOp, signedRemainder(x[0], x[1]));
  MPC_WHOLE(arith::DivUIOp, x[0] / x[1]);
  MPC_WHOLE(arith::RemUIOp, x[0] % x[1]);
  MPC_WHOLE(arith::ShLIOp, x[1] < 64 ? x[0] << x[1] : 0);
  MPC_WHOLE(arith::ShRUIOp, x[1] < 64 ? x[0] >> x[1] : 0);
  MPC_WHOLE(arith::ExtSIOp, x[0]);
  MPC_WHOLE(arith::ExtUIOp, x[0]);
  MPC_WHOLE(arith::TruncIOp, x[0]);
  MPC_WHOLE(arith::IndexCastOp, x[0]);
  MPC_WHOLE(arith::IndexCastUIOp, x[0]);
  return nullptr;
#undef MPC_WHOLE
}

static bool readsUnsigned(Operation *op) {
  return isa<arith::ExtUIOp, arith::IndexCastUIOp, arith::ShRUIOp,
             arith::DivUIOp, arith::RemUIOp, arith::UIToFPOp>(op);
}

/// Returns true if `op` treats a boolean as a signed integer, so that true is
/// -1.
static bool readsSignedBool(Operation *op) {
  return isa<arith::ExtSIOp, arith::IndexCastOp, arith::SIToFPOp>(op) &&
         op->getOperand(0).getType().isInteger(1);
}

/// The mask of the bits of integers of `type`.
static uint64_t maskOf(Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return ~uint64_t(0) >> (64 - width);
}

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

class ScalarCode::Compiler {
public:
  explicit Compiler(ScalarCode &code) : code(code) {}

  llvm::Error compile(linalg::GenericOp op) {
    if (llvm::Error error = compile(*op.getBody(), code.body))
      return error;
    code.arguments = code.body.arguments;
    code.yields = code.body.yields;
    findCombiner(op);
    return llvm::Error::success();
  }

private:
  unsigned slotOf(mlir::Value value) {
    auto [entry, isNew] = slots.try_emplace(value, code.numSlots);
    if (isNew) {
      if (auto constant = value.getDefiningOp<arith::ConstantOp>())
        code.constants.push_back(
            {code.numSlots, elementOf(constant.getValue())});
      ++code.numSlots;
    }
    return entry->second;
  }

  llvm::Error compile(mlir::Block &block, Block &to) {
    for (BlockArgument argument : block.getArguments())
      to.arguments.push_back(slotOf(argument));
    for (Operation &op : block.without_terminator()) {
      if (isa<arith::ConstantOp>(op))
        continue;
      Instruction instruction{};
      instruction.op = &op;
      for (mlir::Value operand : op.getOperands())
        if (!isa<RankedTensorType>(operand.getType()))
          instruction.operands.push_back(slotOf(operand));
      for (mlir::Value result : op.getResults())
        instruction.results.push_back(slotOf(result));
      if (llvm::Error error = classify(op, instruction))
        return error;
      to.instructions.push_back(std::move(instruction));
    }
    for (mlir::Value value : block.getTerminator()->getOperands())
      to.yields.push_back(slotOf(value));
    return llvm::Error::success();
  }

  llvm::Error classify(Operation &op, Instruction &instruction) {
    auto regions = [&](Instruction::Kind kind) -> llvm::Error {
      instruction.kind = kind;
      code.hasRegions = true;
      for (auto [i, part] :
           {std::pair{0u, &instruction.first}, {1u, &instruction.second}}) {
        if (op.getNumRegions() <= i || op.getRegion(i).empty())
          continue;
        *part = std::make_shared<Block>();
        if (llvm::Error error = compile(op.getRegion(i).front(), **part))
          return error;
      }
      return llvm::Error::success();
    };
    if (op.getNumOperands() > 0 && readsUnsigned(&op))
      instruction.operandMask = maskOf(op.getOperand(0).getType());
    instruction.negates = readsSignedBool(&op);
    if (isa<scf::IfOp>(op))
      return regions(Instruction::If);
    if (isa<scf::ForOp>(op))
      return regions(Instruction::For);
    if (isa<linalg::IndexOp>(op))
      instruction.kind = Instruction::Index;
    else if (isa<tensor::ExtractOp>(op))
      instruction.kind = Instruction::Extract;
    else if (isa<arith::CmpFOp, arith::CmpIOp>(op))
      instruction.kind = Instruction::Compare;
    else if (isa<arith::SelectOp>(op))
      instruction.kind = Instruction::Select;
    else if (isa<arith::TruncFOp>(op))
      instruction.kind = Instruction::Round;
    else if (isa<arith::SIToFPOp>(op))
      instruction.kind = Instruction::ToFloat;
    else if (isa<arith::UIToFPOp>(op))
      instruction.kind = Instruction::ToFloatU;
    else if (isa<arith::FPToSIOp>(op))
      instruction.kind = Instruction::ToInteger;
    else if ((instruction.real = realFunction(&op)))
      instruction.kind = Instruction::Arithmetic;
    else if ((instruction.whole = wholeFunction(&op)))
      instruction.kind = Instruction::Integer;
    else
      return llvm::createStringError("the interpreter does not know '%s'",
                                     op.getName().getStringRef().str().c_str());
    return llvm::Error::success();
  }

  /// Finds out whether the accumulator is only used by the last op.
  void findCombiner(linalg::GenericOp op) {
    if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1 ||
        code.body.instructions.empty() || code.hasRegions)
      return;
    mlir::Value accumulator = op.getBody()->getArgument(op.getNumDpsInputs());
    Operation *last =
        op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
    const Instruction &final = code.body.instructions.back();
    if (!last || final.op != last || last->getNumOperands() != 2 ||
        !accumulator.hasOneUse() || *accumulator.user_begin() != last ||
        (final.kind != Instruction::Arithmetic &&
         final.kind != Instruction::Integer))
      return;
    code.accumulatorFirst = last->getOperand(0) == accumulator;
    code.addedSlot = slotOf(last->getOperand(code.accumulatorFirst ? 1 : 0));
    code.combiner = final;
    code.body.instructions.pop_back();
  }

  ScalarCode &code;
  DenseMap<mlir::Value, unsigned> slots;
};

llvm::Expected<ScalarCode> ScalarCode::compile(linalg::GenericOp op) {
  ScalarCode code;
  if (llvm::Error error = Compiler(code).compile(op))
    return error;
  return code;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

std::vector<Element> ScalarCode::makeSlots() const {
  Element zero;
  zero.whole = 0;
  std::vector<Element> slots(size_t(numSlots) * lanes(), zero);
  for (auto [slot, value] : constants)
    std::fill_n(slots.begin() + size_t(slot) * lanes(), lanes(), value);
  return slots;
}

void ScalarCode::accumulate(Element &total, Element value) const {
  Element x[2] = {accumulatorFirst ? total : value,
                  accumulatorFirst ? value : total};
  if (combiner->kind == Instruction::Arithmetic) {
    double reals[2] = {x[0].real, x[1].real};
    total.real = combiner->real(reals);
  } else {
    uint64_t wholes[2] = {uint64_t(x[0].whole), uint64_t(x[1].whole)};
    total =
        wholeOf(combiner->op->getResult(0).getType(), combiner->whole(wholes));
  }
}

llvm::Error ScalarCode::run(const Points &points, Lookup tensors,
                            std::vector<Element> &slots) const {
  return run(body, points, tensors, slots);
}

llvm::Error ScalarCode::run(const Block &block, const Points &points,
                            Lookup tensors, std::vector<Element> &slots) const {
  for (const Instruction &instruction : block.instructions)
    if (llvm::Error error = step(instruction, points, tensors, slots))
      return error;
  return llvm::Error::success();
}

llvm::Error ScalarCode::step(const Instruction &instruction,
                             const Points &points, Lookup tensors,
                             std::vector<Element> &slots) const {
  const size_t width = lanes();
  const unsigned count = points.count;
  auto lane = [&](unsigned slot) { return slots.data() + slot * width; };
  Operation *op = instruction.op;
  auto in = [&](unsigned i) -> const Element * {
    return lane(instruction.operands[i]);
  };
  auto copy = [&](ArrayRef<unsigned> from, ArrayRef<unsigned> to) {
    SmallVector<Element> held;
    for (unsigned slot : from)
      held.push_back(*lane(slot));
    for (auto [slot, value] : llvm::zip(to, held))
      *lane(slot) = value;
  };
  Element *out =
      instruction.results.empty() ? nullptr : lane(instruction.results[0]);
  switch (instruction.kind) {
  case Instruction::Arithmetic:
    for (unsigned i = 0; i < count; ++i) {
      double x[3];
      for (unsigned k = 0; k < instruction.operands.size(); ++k)
        x[k] = in(k)[i].real;
      out[i].real = instruction.real(x);
    }
    break;
  case Instruction::Integer: {
    Type type = op->getResult(0).getType();
    for (unsigned i = 0; i < count; ++i) {
      uint64_t x[2] = {};
      for (unsigned k = 0; k < instruction.operands.size(); ++k)
        x[k] = uint64_t(in(k)[i].whole) & instruction.operandMask;
      if (instruction.negates)
        x[0] = -x[0];
      if (isa<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp>(
              op) &&
          x[1] == 0)
        return llvm::createStringError("an integer is divided by 0");
      out[i] = wholeOf(type, instruction.whole(x));
    }
    break;
  }
  case Instruction::Compare:
    for (unsigned i = 0; i < count; ++i)
      out[i].whole = isa<arith::CmpFOp>(op)
                         ? holds(cast<arith::CmpFOp>(op).getPredicate(),
                                 in(0)[i].real, in(1)[i].real)
                         : holds(cast<arith::CmpIOp>(op).getPredicate(),
                                 in(0)[i].whole, in(1)[i].whole);
    break;
  case Instruction::Select:
    for (unsigned i = 0; i < count; ++i)
      out[i] = in(0)[i].whole != 0 ? in(1)[i] : in(2)[i];
    break;
  case Instruction::Round:
    for (unsigned i = 0; i < count; ++i)
      out[i].real = roundTo(op->getResult(0).getType(), in(0)[i].real);
    break;
  case Instruction::ToFloat:
  case Instruction::ToFloatU:
    for (unsigned i = 0; i < count; ++i) {
      int64_t whole = instruction.negates ? -in(0)[i].whole : in(0)[i].whole;
      double value = instruction.kind == Instruction::ToFloat
                         ? double(whole)
                         : double(uint64_t(whole) & instruction.operandMask);
      out[i].real = roundTo(op->getResult(0).getType(), value);
    }
    break;
  case Instruction::ToInteger:
    for (unsigned i = 0; i < count; ++i)
      out[i] =
          wholeOf(op->getResult(0).getType(), uint64_t(int64_t(in(0)[i].real)));
    break;
  case Instruction::Index: {
    const auto &dim = points.dims[cast<linalg::IndexOp>(op).getDim()];
    for (unsigned i = 0; i < count; ++i)
      out[i].whole = dim[i];
    break;
  }
  case Instruction::Extract: {
    auto read = cast<tensor::ExtractOp>(op);
    const HostTensor &tensor = tensors(read.getTensor());
    ArrayRef<int64_t> shape = read.getTensor().getType().getShape();
    for (unsigned i = 0; i < count; ++i) {
      int64_t element = 0;
      for (auto [k, extent] : llvm::enumerate(shape)) {
        int64_t place = in(k)[i].whole;
        if (place < 0 || place >= extent)
          return llvm::createStringError(
              "an element is read at %lld, outside of an extent of %lld",
              static_cast<long long>(place), static_cast<long long>(extent));
        element = element * extent + place;
      }
      out[i] = tensor.elements[element];
    }
    break;
  }
  case Instruction::If: {
    const Block *taken =
        in(0)->whole != 0 ? instruction.first.get() : instruction.second.get();
    if (!taken)
      break;
    if (llvm::Error error = run(*taken, points, tensors, slots))
      return error;
    copy(taken->yields, instruction.results);
    break;
  }
  case Instruction::For: {
    const Block &loop = *instruction.first;
    const int64_t end = in(1)->whole, stride = in(2)->whole;
    ArrayRef<unsigned> carried = ArrayRef(loop.arguments).drop_front();
    copy(ArrayRef(instruction.operands).drop_front(3), carried);
    for (int64_t turn = in(0)->whole; turn < end; turn += stride) {
      lane(loop.arguments[0])->whole = turn;
      if (llvm::Error error = run(loop, points, tensors, slots))
        return error;
      copy(loop.yields, carried);
    }
    copy(carried, instruction.results);
    break;
  }
  }
  return llvm::Error::success();
}
