//===- Dialect.cpp - Registration of the training dialect -----------------===//

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc::train;

void TrainDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Dialect/Train/IR/TrainAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/Dialect/Train/IR/TrainOps.cpp.inc"
      >();
}

bool mpc::train::haveSameShapes(TypeRange lhs, TypeRange rhs) {
  return llvm::equal(lhs, rhs, [](Type l, Type r) {
    return cast<ShapedType>(l).getShape() == cast<ShapedType>(r).getShape();
  });
}

#include "compiler/Dialect/Train/IR/TrainDialect.cpp.inc"
#include "compiler/Dialect/Train/IR/TrainEnums.cpp.inc"
#include "compiler/Dialect/Train/IR/TrainInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Train/IR/TrainAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/Dialect/Train/IR/TrainOps.cpp.inc"
