//===- ExecOps.cpp - Compiled program ops ---------------------------------===//

#include "compiler/Dialect/Exec/IR/Exec.h"

#include "compiler/Catalog/Catalog.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc::exec;

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Dialect/Exec/IR/ExecAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/Dialect/Exec/IR/ExecOps.cpp.inc"
      >();
}

LogicalResult CallOp::verify() {
  if (!kernelId(getKernel())) // call_c1
    return emitOpError("names a kernel that the catalog does not have: '")
           << getKernel() << "'";
  return success();
}

LogicalResult LaunchOp::verify() {
  const auto results = static_cast<int64_t>(getResults());
  const auto count = static_cast<int64_t>(getOperands().size());
  if (results > count) // launch_c4
    return emitOpError("writes ")
           << results << " of " << count << " operands";
  std::optional<ArrayRef<int64_t>> elements = getItemElements();
  if (!elements)
    return success();
  const auto known = static_cast<int64_t>(elements->size());
  if (known != count) // launch_c5
    return emitOpError("has the elements of items for ")
           << known << " of " << count << " operands";
  for (auto [i, each] : llvm::enumerate(*elements)) {
    const int64_t all =
        cast<BufferAttr>(getOperands()[i]).getType().getNumElements();
    const bool isRead = int64_t(i) < count - results;
    const bool isDivided =
        each > 0 && llvm::divideCeil(all, each) == uint64_t(getItems());
    if (!isDivided && !(each == 0 && isRead)) // launch_c5
      return emitOpError("divides ")
             << all << " elements of operand " << i << " into " << getItems()
             << " items of " << each;
  }
  return success();
}

#include "compiler/Dialect/Exec/IR/ExecDialect.cpp.inc"
#include "compiler/Dialect/Exec/IR/ExecEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Exec/IR/ExecAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/Dialect/Exec/IR/ExecOps.cpp.inc"
