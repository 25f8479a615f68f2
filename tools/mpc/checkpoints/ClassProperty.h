//===- ClassProperty.h - Class names in checkpoints -------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_CLASSPROPERTY_H
#define MPC_TOOLS_MPC_CHECKPOINTS_CLASSPROPERTY_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/data/sources/TextColumn.h"

namespace mpc::tool {

/// Saves the numbers of classes with the checkpoint, so that other data, which
/// may lack some of the classes, is read with the same numbers.
void rememberClasses(Session &session, const ClassNames &classes);

/// The classes of the checkpoint that the session was loaded from.
ClassNames rememberedClasses(const Session &session);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_CLASSPROPERTY_H
