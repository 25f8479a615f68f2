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

#include "compiler/Dialect/Exec/IR/ExecDialect.cpp.inc"
#include "compiler/Dialect/Exec/IR/ExecEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Exec/IR/ExecAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/Dialect/Exec/IR/ExecOps.cpp.inc"
