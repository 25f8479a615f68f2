//===- Attributes.h - Attributes of the amp dialect -------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_ATTRIBUTES_H
#define MPC_COMPILER_DIALECT_AMP_IR_ATTRIBUTES_H

#include "compiler/Dialect/Amp/IR/Format.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Amp/IR/AmpAttributes.h.inc"

#endif // MPC_COMPILER_DIALECT_AMP_IR_ATTRIBUTES_H
