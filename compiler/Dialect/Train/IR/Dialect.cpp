//===- Dialect.cpp - Registration of the training dialect -----------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Ops/Function/Functions.h"
#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"

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
  addOperations<
#define GET_OP_LIST
#include "compiler/Dialect/Train/IR/RecomputeOps.cpp.inc"
      >();
}

bool mpc::train::haveSameShapes(TypeRange lhs, TypeRange rhs) {
  return llvm::equal(lhs, rhs, [](Type l, Type r) {
    auto left = cast<ShapedType>(l), right = cast<ShapedType>(r);
    Type leftElement = left.getElementType();
    Type rightElement = right.getElementType();
    return left.getShape() == right.getShape() &&
           (leftElement == rightElement ||
            (isa<FloatType>(leftElement) && isa<FloatType>(rightElement)));
  });
}

/// The role of a state is a bare keyword: `train.state @w parameter : ...`.
static ParseResult parseStateRole(OpAsmParser &parser, StateRoleAttr &role) {
  StringRef keyword;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<StateRole> parsed = symbolizeStateRole(keyword);
  if (!parsed)
    return parser.emitError(where, "unknown role of a state '")
           << keyword << "'";
  role = StateRoleAttr::get(parser.getContext(), *parsed);
  return success();
}

static void printStateRole(OpAsmPrinter &printer, Operation *,
                           StateRoleAttr role) {
  printer << stringifyStateRole(role.getValue());
}

#include "compiler/Dialect/Train/IR/TrainDialect.cpp.inc"
#include "compiler/Dialect/Train/IR/TrainEnums.cpp.inc"
#include "compiler/Dialect/Train/IR/TrainInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Train/IR/TrainAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/Dialect/Train/IR/TrainOps.cpp.inc"
