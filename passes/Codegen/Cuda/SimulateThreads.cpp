//===- SimulateThreads.cpp - GPU kernels for the host simulator -----------===//

#include "passes/Codegen/Cuda/SimulateThreads.h"
#include "compiler/Attributes/Attributes.h"
#include "passes/Codegen/Cuda/GpuOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

/// Numbers from test/device_sim/abi.h.
static constexpr int32_t kShuffleXor = 0;
static constexpr int32_t kE4M3 = 0, kE5M2 = 1;

namespace {

class Simulation {
public:
  explicit Simulation(func::FuncOp kernel)
      : kernel(kernel), module(kernel->getParentOfType<ModuleOp>()),
        loc(kernel.getLoc()), builder(kernel.getContext()),
        pointer(LLVM::LLVMPointerType::get(kernel.getContext())),
        i32(builder.getI32Type()) {}

  void run() {
    nameText();
    SmallVector<Operation *> work;
    kernel.walk([&](Operation *op) { work.push_back(op); });
    for (Operation *op : work) {
      builder.setInsertionPoint(op);
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](NVVM::ThreadIdXOp) {
            replace(op, call("mpc_sim_thread_index", i32, {number(0)}));
          })
          .Case([&](NVVM::BlockIdXOp) {
            replace(op, call("mpc_sim_block_index", i32, {number(0)}));
          })
          .Case([&](NVVM::Barrier0Op) {
            call("mpc_sim_block_barrier", Type(), site());
            op->erase();
          })
          .Case([&](NVVM::DynamicSmemSize) {
            replace(op, call("mpc_sim_dynamic_shared_bytes", i32, {}));
          })
          // A prefetch.
          .Case([&](LLVM::InlineAsmOp assembly) { assembly.erase(); })
          .Case([&](NVVM::ShflOp shuffle) { simulate(shuffle); })
          .Case([&](NVVM::ConvertF32x2ToF8x2Op pair) {
            bool isE5M2 = isa<Float8E5M2Type>(pair.getDstTy());
            replace(op, call("mpc_sim_round_to_fp8", builder.getI16Type(),
                             {number(isE5M2 ? kE5M2 : kE4M3), pair.getA(),
                              pair.getB()}));
          })
          .Case([&](LLVM::AddrSpaceCastOp cast) { simulate(cast); });
    }
    takeParameters();
  }

private:
  Value number(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  }

  void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  /// Calls a function of the simulator; no result if `type` is null.
  Value call(StringRef name, Type type, ArrayRef<Value> operands) {
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(module.getBody());
      SmallVector<Type> types(ValueRange(operands).getTypes());
      Type result = type ? type : LLVM::LLVMVoidType::get(builder.getContext());
      function = LLVM::LLVMFuncOp::create(
          builder, loc, name, LLVM::LLVMFunctionType::get(result, types));
    }
    auto made = LLVM::CallOp::create(builder, loc, function, operands);
    return type ? made.getResult() : Value();
  }

  /// The "file" and "line" of an operation: the kernel's name and the
  /// operation's number.
  SmallVector<Value> site() {
    Value text = LLVM::AddressOfOp::create(builder, loc, pointer, name);
    return {text, number(++sites)};
  }

  void simulate(NVVM::ShflOp shuffle) {
    Value none = LLVM::ZeroOp::create(builder, loc, pointer);
    SmallVector<Value> operands = {
        number(kShuffleXor), shuffle.getThreadMask(),   shuffle.getVal(),
        shuffle.getOffset(), shuffle.getMaskAndClamp(), none};
    operands.append(site());
    replace(shuffle, call("mpc_sim_shuffle_32", i32, operands));
  }

  /// Replaces the address of a shared array by a call; the address of its
  /// global is the key.
  void simulate(LLVM::AddrSpaceCastOp cast) {
    auto address = cast.getArg().getDefiningOp<LLVM::AddressOfOp>();
    auto global = module.lookupSymbol<LLVM::GlobalOp>(address.getGlobalName());
    if (global.getName() == kDynamicShared) {
      replace(cast, call("mpc_sim_dynamic_shared", pointer, site()));
      address.erase();
      if (global.symbolKnownUseEmpty(module))
        global.erase();
      return;
    }
    auto type = ::llvm::cast<LLVM::LLVMArrayType>(global.getType());
    global.setAddrSpace(0);
    // Only the address of the global is used.
    global.setLinkage(LLVM::Linkage::Internal);
    Value key = LLVM::AddressOfOp::create(builder, loc, global);
    Value bytes = arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(type.getNumElements()));
    Value alignment = arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(*global.getAlignment()));
    SmallVector<Value> operands = {
        key, LLVM::AddressOfOp::create(builder, loc, pointer, name), bytes,
        alignment};
    operands.append(site());
    replace(cast, call("mpc_sim_static_shared", pointer, operands));
    if (address.use_empty())
      address.erase();
  }

  /// The kernel's name as a constant.
  void nameText() {
    std::string text = kernel.getName().str();
    name = text + "_name";
    text.push_back('\0');
    builder.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(
        builder, loc,
        LLVM::LLVMArrayType::get(builder.getI8Type(), text.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, name,
        builder.getStringAttr(text));
  }

  void takeParameters() {
    Block &entry = kernel.getBody().front();
    unsigned count = entry.getNumArguments();
    builder.setInsertionPointToStart(&entry);
    Value parameters = entry.addArgument(pointer, loc);
    for (unsigned i = 0; i < count; ++i) {
      Value slot =
          LLVM::GEPOp::create(builder, loc, pointer, pointer, parameters,
                              ArrayRef<LLVM::GEPArg>{int32_t(i)});
      Value place = LLVM::LoadOp::create(builder, loc, pointer, slot);
      entry.getArgument(i).replaceAllUsesWith(
          LLVM::LoadOp::create(builder, loc, pointer, place));
    }
    entry.eraseArguments(0, count);
    kernel.setFunctionType(
        FunctionType::get(builder.getContext(), {pointer}, {}));
  }

  func::FuncOp kernel;
  ModuleOp module;
  Location loc;
  OpBuilder builder;
  Type pointer, i32;
  std::string name;
  int32_t sites = 0;
};

} // namespace

void mpc::simulateThreads(ModuleOp module) {
  SmallVector<func::FuncOp> kernels;
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(kKernelAttr))
      kernels.push_back(func);
  for (func::FuncOp kernel : kernels)
    Simulation(kernel).run();
}
