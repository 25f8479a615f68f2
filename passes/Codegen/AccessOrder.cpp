//===- AccessOrder.cpp - Loads and stores of a kernel in order ------------===//

#include "passes/Codegen/AccessOrder.h"

#include "compiler/Dialect/Exec/IR/Exec.h"

using namespace mlir;
using namespace mpc;

llvm::StringMap<SmallVector<SharedBuffer>>
mpc::findSharedBuffers(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::StringMap<SmallVector<SharedBuffer>> found;
  module.walk([&](exec::LaunchOp launch) {
    auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
    if (!kernel || kernel.isExternal())
      return;
    auto buffers = launch.getOperands().getAsRange<exec::BufferAttr>();
    SmallVector<exec::BufferAttr> all(buffers.begin(), buffers.end());
    unsigned inputs = kernel.getNumArguments();
    for (unsigned result = 0; inputs + result < all.size(); ++result)
      for (unsigned operand = 0; operand < inputs; ++operand) {
        exec::BufferAttr a = all[operand], b = all[inputs + result];
        SmallVector<SharedBuffer> &pairs = found[launch.getKernel()];
        if (a.getSpace() == b.getSpace() && a.getOffset() == b.getOffset() &&
            a.getType().getNumElements() > 0 &&
            continuedArgument(kernel, result) != operand &&
            llvm::none_of(pairs, [&](SharedBuffer pair) {
              return pair.operand == operand && pair.result == result;
            }))
          pairs.push_back({operand, result});
      }
  });
  return found;
}

void AccessOrder::load(unsigned operand, const KernelAccess &access) {
  loaded[operand].push_back({access.offset, access.strides});
  for (const Store &store : stores)
    if (store.walk != walk || store.position == position)
      loadedLate.insert({operand, store.operand});
}

void AccessOrder::loadAnywhere(unsigned operand) {
  loadedAnywhere.insert(operand);
}

void AccessOrder::store(unsigned operand, const KernelAccess &access) {
  stored[operand].push_back({access.offset, access.strides});
  stores.push_back({operand, walk, position});
}

bool AccessOrder::mayShare(unsigned operand, unsigned result) const {
  if (loadedAnywhere.contains(operand) ||
      loadedLate.contains({operand, result}))
    return false;
  SmallVector<Place, 1> loads = loaded.lookup(operand),
                        places = stored.lookup(result);
  return llvm::all_of(loads, [&](const Place &load) {
    return llvm::all_of(places,
                        [&](const Place &place) { return load == place; });
  });
}
