//===- Exec.h - Compiled program dialect ------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_EXEC_IR_EXEC_H
#define MPC_COMPILER_DIALECT_EXEC_IR_EXEC_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "compiler/Dialect/Exec/IR/ExecDialect.h.inc"
#include "compiler/Dialect/Exec/IR/ExecEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Exec/IR/ExecAttributes.h.inc"
#define GET_OP_CLASSES
#include "compiler/Dialect/Exec/IR/ExecOps.h.inc"

#endif // MPC_COMPILER_DIALECT_EXEC_IR_EXEC_H
