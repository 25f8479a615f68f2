//===- UseTf32.cpp - Allow TF32 for f32 products --------------------------===//
//
// Implements mpc-use-tf32. No type changes: the mark allows catalog kernels to
// drop the bits that TF32 does not have.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Catalog/Catalog.h"
#include "compiler/Support/Notes.h"
#include "compiler/Support/Precision/Precisions.h"
#include "passes/Precision/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_USETF32PASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Whether the op reads f32 and some device has its kernel for TF32.
static bool canUseTf32(Operation *op) {
  auto kernel = dyn_cast<train::KernelOpInterface>(op);
  return kernel && isLowOp(op) &&
         isComputedSomewhere(kernel.getKernelName(), "tf32") &&
         llvm::all_of(op->getOperandTypes(), isF32Tensor);
}

/// Whether the user wants TF32 for this op; `byDefault` applies if no rule
/// does.
static bool isWanted(Operation *op, bool byDefault) {
  std::optional<Format> format = amp::getFormat(op);
  return format ? *format == Format::Tf32 : byDefault;
}

namespace {

struct UseTf32Pass : mpc::impl::UseTf32PassBase<UseTf32Pass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto precision = module->getAttrOfType<StringAttr>(kPrecisionAttr);
    bool byDefault =
        precision && precisionOf(precision.getValue()).multipliesTf32();
    bool any = false;
    module.walk([&](Operation *op) {
      if (!canUseTf32(op) || !isWanted(op, byDefault))
        return;
      op->setAttr(kTf32Attr, UnitAttr::get(&getContext()));
      if (!isUserChosen(op))
        amp::setDecision(op, {Rule::Tf32});
      any = true;
    });
    if (any && onCpu)
      addNote(module, "tf32: CPUs multiply in f32; only GPU code (option "
                      "'target'=cuda) differs from fp32");
  }
};

} // namespace
