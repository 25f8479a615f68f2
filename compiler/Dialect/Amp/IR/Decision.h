//===- Decision.h - Decisions about the types of ops ------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_DECISION_H
#define MPC_COMPILER_DIALECT_AMP_IR_DECISION_H

#include "compiler/Dialect/Amp/IR/Attributes.h"
#include "compiler/Support/Precision/Rules.h"

#include "mlir/IR/Operation.h"

namespace mpc::amp {

/// A rule and its arguments, before they become an attribute.
struct Decision {
  Rule rule;
  llvm::SmallVector<mlir::Attribute, 3> arguments = {};
};

/// Writes the decision to an op as kDecisionAttr.
void setDecision(mlir::Operation *op, const Decision &decision);

/// The decision of an op; null if it has none.
DecisionAttr getDecision(mlir::Operation *op);

} // namespace mpc::amp

#endif // MPC_COMPILER_DIALECT_AMP_IR_DECISION_H
