//===- ClassName.h - Names of precision classes -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_CLASSNAME_H
#define MPC_COMPILER_DIALECT_AMP_IR_CLASSNAME_H

#include "compiler/Dialect/Amp/IR/Amp.h"

namespace mpc::amp {

/// The name in reports and lists of ops.
inline llvm::StringRef className(PrecisionClass kind) {
  switch (kind) {
  case PrecisionClass::Low:
    return "low";
  case PrecisionClass::Sensitive:
    return "sensitive";
  case PrecisionClass::Internal:
    return "internal";
  case PrecisionClass::Follow:
    return "follow";
  case PrecisionClass::Promote:
    return "promote";
  case PrecisionClass::Transparent:
    return "transparent";
  }
  llvm_unreachable("a class was added");
}

} // namespace mpc::amp

#endif // MPC_COMPILER_DIALECT_AMP_IR_CLASSNAME_H
