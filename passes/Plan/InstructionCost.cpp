//===- InstructionCost.cpp - Cost of planned instructions -----------------===//

#include "passes/Plan/InstructionCost.h"

#include "compiler/Analysis/KernelDomain.h"
#include "compiler/Catalog/Catalog.h"
#include "compiler/Catalog/KernelCost.h"
#include "compiler/Dialect/Train/IR/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static int64_t iterationsOf(linalg::GenericOp op) {
  int64_t iterations = 1;
  for (int64_t range : op.getStaticLoopRanges())
    iterations *= range;
  return iterations;
}

/// The number of elements of `memory` that a kernel reads: one in each
/// iteration of each op that reads it. A table need not be read completely.
static int64_t countReads(func::FuncOp kernel, Value memory) {
  auto reads = [&](linalg::GenericOp op) {
    auto is = [&](Value value) { return memoryRoot(value) == memory; };
    return llvm::any_of(op.getDpsInputs(), is) ||
           llvm::any_of(computedReads(op), is) ||
           llvm::any_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
             return is(init.get()) && op.payloadUsesValueFromOperand(&init);
           });
  };
  int64_t count = 0;
  for (auto op : kernel.getOps<linalg::GenericOp>())
    if (reads(op))
      count += iterationsOf(op);
  return count;
}

/// The number of elements of a result that a kernel writes. It may complete a
/// tensor that another op or the caller began.
static int64_t countWrites(Value result) {
  int64_t count = 0;
  while (auto op = memoryRoot(result).getDefiningOp<linalg::GenericOp>()) {
    count += iterationsOf(op);
    auto made = cast<OpResult>(memoryRoot(result));
    result = op.getDpsInitOperand(made.getResultNumber())->get();
  }
  return count;
}

std::vector<int64_t> mpc::countTouched(func::FuncOp kernel) {
  std::vector<int64_t> counts;
  if (kernel.isExternal())
    return counts;
  for (BlockArgument argument : kernel.getArguments())
    counts.push_back(countReads(kernel, argument));
  for (Value result : kernel.front().getTerminator()->getOperands())
    counts.push_back(countWrites(result));
  return counts;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {
/// Operations for one element.
struct Operations {
  int64_t all = 0, rounding = 0;
};
} // namespace

/// The operations that an instruction of a kernel's body counts as. Functions
/// are polynomials; rounding takes several integer instructions.
static Operations operationsOf(Operation &op) {
  constexpr int64_t kFunction = 16, kRoot = 8, kRounding = 4;
  if (isa<arith::TruncFOp>(op))
    return {kRounding, kRounding};
  if (isa<arith::ExtFOp>(op))
    return {1, 1};
  bool isFloat = llvm::any_of(op.getOperandTypes(),
                              [](Type type) { return isa<FloatType>(type); });
  if (!isFloat)
    return {};
  if (isa<math::SqrtOp, math::RsqrtOp, arith::DivFOp>(op))
    return {kRoot, 0};
  if (isa<math::AbsFOp, math::FmaOp, math::CopySignOp>(op))
    return {1, 0};
  if (isa<math::MathDialect>(op.getDialect()))
    return {kFunction, 0};
  return {isa<arith::ArithDialect>(op.getDialect()), 0};
}

static Operations operationsOf(func::FuncOp kernel) {
  Operations sum;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    Operations body;
    op.getBody()->walk([&](Operation *inner) {
      Operations of = operationsOf(*inner);
      body.all += of.all, body.rounding += of.rounding;
    });
    sum.all += body.all * iterationsOf(op);
    sum.rounding += body.rounding * iterationsOf(op);
  }
  return sum;
}

/// Returns true if `kernel` does nothing but round or widen.
static bool onlyRounds(func::FuncOp kernel, bool isTranspose) {
  bool rounds = false, computes = isTranspose;
  for (auto op : kernel.getOps<linalg::GenericOp>())
    op.getBody()->walk([&](Operation *inner) {
      bool isRounding = isa<arith::TruncFOp, arith::ExtFOp>(inner);
      rounds |= isRounding;
      computes |= !isRounding && !isa<linalg::YieldOp>(inner);
    });
  return rounds && !computes && kernel.getNumArguments() == 1 &&
         kernel.getNumResults() == 1 &&
         cast<ShapedType>(kernel.getArgumentTypes()[0]).getNumElements() ==
             cast<ShapedType>(kernel.getResultTypes()[0]).getNumElements();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

CostOfInstructions::CostOfInstructions(ModuleOp module) {
  for (train::StateOp state :
       train::Program(module).states(train::StateRole::WorkingCopy))
    if (auto offset = state->getAttrOfType<IntegerAttr>("exec.offset"))
      copies.insert(offset.getInt());
}

static int64_t bytesOf(Type element, int64_t elements) {
  return elements *
         llvm::divideCeil(std::max(8u, element.getIntOrFloatBitWidth()), 8);
}

int64_t CostOfInstructions::wideBytes(exec::BufferAttr buffer, int64_t elements,
                                      bool isResult) const {
  Type element = buffer.getType().getElementType();
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() > 16)
    return bytesOf(element, elements);
  bool isCopy = buffer.getSpace() == exec::Space::State &&
                copies.contains(buffer.getOffset());
  return isCopy && isResult ? 0 : 4 * elements;
}

InstructionCost CostOfInstructions::of(exec::LaunchOp launch,
                                       func::FuncOp kernel,
                                       ArrayRef<int64_t> touched,
                                       bool isTranspose) const {
  InstructionCost cost;
  for (auto [i, operand] : llvm::enumerate(launch.getOperands())) {
    auto buffer = cast<exec::BufferAttr>(operand);
    int64_t elements = buffer.getType().getNumElements();
    if (i < touched.size())
      elements = std::min(elements, touched[i]);
    cost.bytes += bytesOf(buffer.getType().getElementType(), elements);
    cost.wideBytes +=
        wideBytes(buffer, elements, i >= kernel.getNumArguments());
  }
  Operations operations = operationsOf(kernel);
  cost.flops = operations.all;
  cost.wideFlops = operations.all - operations.rounding;
  if (onlyRounds(kernel, isTranspose))
    cost.wideFlops = cost.wideBytes = 0;
  return cost;
}

static KernelArithmetic arithmeticOf(exec::CallOp call) {
  SmallVector<RankedTensorType> types;
  for (auto buffer : call.getOperands().getAsRange<exec::BufferAttr>())
    types.push_back(buffer.getType());
  return mpc::arithmeticOf(call.getKernel(), types, call.getParameters());
}

InstructionCost CostOfInstructions::of(exec::CallOp call) const {
  InstructionCost cost;
  SmallVector<exec::BufferAttr> buffers(
      call.getOperands().getAsRange<exec::BufferAttr>());
  // A lookup reads as many elements of its table as it writes.
  bool looksUp = call.getKernel() == "embedding";
  unsigned inputs = kernelInputs(call.getKernel()).value_or(0);
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    int64_t elements = buffer.getType().getNumElements();
    if (looksUp)
      elements = std::min(elements, buffers.back().getType().getNumElements());
    cost.bytes += bytesOf(buffer.getType().getElementType(), elements);
    cost.wideBytes += wideBytes(buffer, elements, i >= inputs);
  }
  cost.flops = cost.wideFlops = ::arithmeticOf(call).flops;
  return cost;
}

std::string CostOfInstructions::dtypeOf(exec::CallOp call) {
  KernelArithmetic arithmetic = ::arithmeticOf(call);
  if (arithmetic.flops == 0)
    return "";
  if (arithmetic.mayUseTf32)
    return "tf32";
  std::string name;
  llvm::raw_string_ostream(name)
      << cast<exec::BufferAttr>(call.getOperands()[0])
             .getType()
             .getElementType();
  return name;
}

//===----------------------------------------------------------------------===//
// Required bytes
//===----------------------------------------------------------------------===//

namespace {
/// Ranges of the state memory.
class Ranges {
public:
  void add(exec::BufferAttr buffer, int64_t most) {
    RankedTensorType type = buffer.getType();
    int64_t elements = std::min(most, type.getNumElements());
    ranges.push_back(
        {buffer.getOffset(),
         buffer.getOffset() + bytesOf(type.getElementType(), elements)});
  }

  /// The size of their union.
  int64_t size() {
    llvm::sort(ranges);
    int64_t sum = 0, end = 0;
    for (auto [first, last] : ranges) {
      sum += std::max<int64_t>(0, last - std::max(first, end));
      end = std::max(end, last);
    }
    return sum;
  }

private:
  std::vector<std::pair<int64_t, int64_t>> ranges;
};
} // namespace

/// The number of operands of an instruction that are inputs.
static unsigned countInputs(Operation &op, const SymbolTable &symbols) {
  if (auto call = dyn_cast<exec::CallOp>(op))
    return kernelInputs(call.getKernel()).value_or(0);
  auto launch = cast<exec::LaunchOp>(op);
  auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
  return kernel ? kernel.getNumArguments() : 0;
}

int64_t
mpc::requiredBytes(exec::EntryOp entry,
                   llvm::function_ref<ArrayRef<int64_t>(StringRef)> touchedBy) {
  Ranges read, written;
  SymbolTable symbols(entry->getParentOfType<ModuleOp>());
  for (Operation &op : entry.getBody().front()) {
    auto operands = op.getAttrOfType<ArrayAttr>("operands");
    auto call = dyn_cast<exec::CallOp>(op);
    // How many rows of a table a lookup reads depends on the data.
    if (!operands || (call && call.getKernel() == "embedding"))
      continue;
    unsigned inputs = countInputs(op, symbols);
    ArrayRef<int64_t> touched;
    if (auto launch = dyn_cast<exec::LaunchOp>(op))
      touched = touchedBy(launch.getKernel());
    for (auto [i, operand] : llvm::enumerate(operands)) {
      auto buffer = cast<exec::BufferAttr>(operand);
      if (buffer.getSpace() == exec::Space::State)
        (i < inputs ? read : written)
            .add(buffer, i < touched.size() ? touched[i] : INT64_MAX);
    }
  }
  int64_t bytes = read.size() + written.size();
  for (auto input : entry.getInputs().getAsRange<DictionaryAttr>()) {
    RankedTensorType type =
        cast<exec::BufferAttr>(input.get("buffer")).getType();
    bytes += bytesOf(type.getElementType(), type.getNumElements());
  }
  return bytes;
}
