//===- ShareKernels.cpp - One function for similar kernels ----------------===//
//
// Implements mpc-share-kernels. Two kernels are similar if the sequences of
// their ops are equal after every integer constant that may become an argument
// is left out. A sequence is a list of words: MLIR stores equal names, types
// and attributes once, so their addresses identify them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Attributes/Attributes.h"
#include "passes/Codegen/Cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/DebugLog.h"

#include <map>

#define DEBUG_TYPE "mpc-share-kernels"

namespace mpc {
#define GEN_PASS_DEF_SHAREKERNELSPASS
#include "passes/Codegen/Cpu/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

/// A kernel, and the uses of constants that may become arguments, in order.
struct Kernel {
  func::FuncOp func;
  SmallVector<OpOperand *, 0> constants;

  int64_t valueOf(unsigned constant) const {
    auto op = constants[constant]->get().getDefiningOp<arith::ConstantOp>();
    return cast<IntegerAttr>(op.getValue()).getInt();
  }
};

/// Whether the loop around `op` contains one that computes sums, so that a few
/// more cycles in each iteration do not matter.
bool isBesideSums(Operation *op) {
  auto loop = op->getParentOfType<scf::ForOp>();
  return loop && loop.getBody()
                     ->walk([](scf::ForOp inner) {
                       return inner.getNumRegionIterArgs() > 0
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     })
                     .wasInterrupted();
}

/// Whether a constant may become an argument at this use. Division by a
/// constant becomes a multiplication, and loops with a constant step are
/// simpler; so most divisors and all steps stay constants.
bool canBeArgument(OpOperand &use) {
  if (!use.get().getType().isInteger(64))
    return false;
  Operation *user = use.getOwner();
  if (auto loop = dyn_cast<scf::ForOp>(user))
    return use.get() != loop.getStep();
  if (isa<arith::RemUIOp, arith::DivUIOp>(user))
    return isBesideSums(user);
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp,
             arith::CmpIOp, LLVM::GEPOp>(user);
}

/// Writes a kernel as words.
class Sequence {
public:
  explicit Sequence(Kernel &kernel) : kernel(kernel) {
    add(kernel.func.getBody());
  }

  /// The words as a key. The memory is owned by this object.
  StringRef bytes() const {
    return {reinterpret_cast<const char *>(words.data()),
            words.size() * sizeof(uintptr_t)};
  }

private:
  void add(const void *pointer) {
    words.push_back(reinterpret_cast<uintptr_t>(pointer));
  }

  void add(Type type) { add(type.getAsOpaquePointer()); }

  void define(Value value) {
    add(value.getType());
    numbers.try_emplace(value, numbers.size());
  }

  // Constants are written where they are used: two uses of one constant in a
  // kernel may be two constants in a similar one.
  void add(OpOperand &use) {
    auto constant = use.get().getDefiningOp<arith::ConstantOp>();
    if (!constant) {
      words.push_back(numbers.lookup(use.get()));
    } else if (canBeArgument(use)) {
      kernel.constants.push_back(&use);
      words.push_back(~uintptr_t(0));
    } else {
      add(constant.getValue().getAsOpaquePointer());
    }
  }

  void add(Region &region) {
    words.push_back(region.getBlocks().size());
    for (Block &block : region) {
      words.push_back(block.getNumArguments());
      llvm::for_each(block.getArguments(), [&](Value value) { define(value); });
      for (Operation &op : block)
        if (!isa<arith::ConstantOp>(op))
          add(op);
      add(nullptr);
    }
  }

  void add(Operation &op) {
    add(op.getName().getAsOpaquePointer());
    add(op.getAttrDictionary().getAsOpaquePointer());
    words.push_back(op.getNumOperands());
    for (OpOperand &operand : op.getOpOperands())
      add(operand);
    words.push_back(op.getNumResults());
    llvm::for_each(op.getResults(), [&](Value value) { define(value); });
    for (Region &region : op.getRegions())
      add(region);
  }

  Kernel &kernel;
  SmallVector<uintptr_t, 0> words;
  DenseMap<Value, uintptr_t> numbers;
};

struct ShareKernelsPass : mpc::impl::ShareKernelsPassBase<ShareKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    llvm::StringMap<unsigned> classOf;
    unsigned count = 0;
    std::vector<std::vector<Kernel>> classes;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!func->hasAttr(kKernelAttr))
        continue;
      ++count;
      Kernel kernel{func, {}};
      Sequence sequence(kernel);
      auto [entry, isNew] =
          classOf.try_emplace(sequence.bytes(), classes.size());
      if (isNew)
        classes.emplace_back();
      classes[entry->second].push_back(std::move(kernel));
    }
    SymbolTable symbols(getOperation());
    const unsigned wanted = count < many ? minimum : 2;
    for (const std::vector<Kernel> &kernels : classes)
      if (kernels.size() >= wanted)
        share(kernels, symbols);
  }

private:
  /// Moves the body of the first of `kernels` to a function whose arguments are
  /// the constants that differ. All kernels become calls of it.
  static void share(ArrayRef<Kernel> kernels, SymbolTable &symbols) {
    // Constants that are equal in each kernel share an argument.
    std::map<std::vector<int64_t>, unsigned> arguments;
    SmallVector<std::pair<OpOperand *, unsigned>> uses;
    SmallVector<std::vector<int64_t>> values;
    for (unsigned i = 0; i < kernels.front().constants.size(); ++i) {
      std::vector<int64_t> column;
      for (const Kernel &kernel : kernels)
        column.push_back(kernel.valueOf(i));
      if (llvm::all_equal(column))
        continue;
      auto [entry, isNew] = arguments.try_emplace(column, values.size());
      if (isNew)
        values.push_back(std::move(column));
      uses.emplace_back(kernels.front().constants[i], entry->second);
    }
    func::FuncOp first = kernels.front().func;
    LDBG() << kernels.size() << " kernels like " << first.getName()
           << " differ in " << values.size() << " constants";
    func::FuncOp shared = makeFunction(first, values.size());
    for (auto [use, argument] : uses)
      use->set(shared.getArgument(kOperands + argument));
    symbols.insert(shared);
    for (auto [k, kernel] : llvm::enumerate(kernels)) {
      auto own = llvm::map_range(
          values, [k = k](const auto &column) { return column[k]; });
      callShared(kernel.func, shared, llvm::to_vector(own));
    }
  }

  /// Arguments of each kernel: operands, begin and end.
  static constexpr unsigned kOperands = 3;

  /// Moves the body of `kernel` to a new function with more arguments.
  static func::FuncOp makeFunction(func::FuncOp kernel, unsigned arguments) {
    OpBuilder builder(kernel);
    SmallVector<Type> types(kernel.getArgumentTypes());
    types.append(arguments, builder.getI64Type());
    auto shared =
        func::FuncOp::create(builder, kernel.getLoc(), "shared_kernel",
                             builder.getFunctionType(types, {}));
    shared.setPrivate();
    shared.setNoInline(true);
    shared->setAttr(kKernelAttr, builder.getUnitAttr());
    shared.getBody().takeBody(kernel.getBody());
    for (unsigned i = 0; i < arguments; ++i)
      shared.getBody().addArgument(builder.getI64Type(), kernel.getLoc());
    return shared;
  }

  /// Replaces the body of `kernel` by a call of `shared`.
  static void callShared(func::FuncOp kernel, func::FuncOp shared,
                         ArrayRef<int64_t> values) {
    kernel.eraseBody();
    Location loc = kernel.getLoc();
    OpBuilder builder = OpBuilder::atBlockBegin(kernel.addEntryBlock());
    SmallVector<Value> arguments(kernel.getArguments());
    for (int64_t value : values)
      arguments.push_back(arith::ConstantOp::create(
          builder, loc, builder.getI64IntegerAttr(value)));
    func::CallOp::create(builder, loc, shared, arguments);
    func::ReturnOp::create(builder, loc);
  }
};

} // namespace
