//===- Attributes.h - Names of attributes of programs -----------*- C++ -*-===//
#ifndef MPC_COMPILER_ATTRIBUTES_ATTRIBUTES_H
#define MPC_COMPILER_ATTRIBUTES_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace mpc {

// kNameAttr = "mpc.name" and so on; Attributes.def describes them.
#define MPC_ATTRIBUTE(Name, name, places, type)                                \
  inline constexpr llvm::StringLiteral k##Name##Attr = "mpc." name;
#include "compiler/Attributes/Attributes.def"

} // namespace mpc

#endif // MPC_COMPILER_ATTRIBUTES_ATTRIBUTES_H
