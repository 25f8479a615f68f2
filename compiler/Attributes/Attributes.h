//===- Attributes.h - Names of the attributes of programs -------*- C++ -*-===//
#ifndef MPC_COMPILER_ATTRIBUTES_ATTRIBUTES_H
#define MPC_COMPILER_ATTRIBUTES_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace mpc {

// kNameAttr = "mpc.name" and so on; Attributes.def says what they are.
#define MPC_ATTRIBUTE(Name, name, places, type)                                \
  inline constexpr llvm::StringLiteral k##Name##Attr = "mpc." name;
#include "compiler/Attributes/Attributes.def"

} // namespace mpc

#endif // MPC_COMPILER_ATTRIBUTES_ATTRIBUTES_H
