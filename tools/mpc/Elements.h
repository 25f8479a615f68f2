//===- Elements.h - Numbers of tensors in memory ----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_ELEMENTS_H
#define MPC_TOOLS_MPC_ELEMENTS_H

#include "compiler/Reference/HostTensor.h"

#include "mpc/dtype.h"

namespace mpc::tool {

/// The number at `bytes`. Throws a Failure for 16- and 8-bit floats, which the
/// interpreter does not compute with.
reference::Element loadElement(mpc_dtype_t dtype, const char *bytes);

/// Writes a number of that type to `bytes`.
void storeElement(mpc_dtype_t dtype, reference::Element element, char *bytes);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_ELEMENTS_H
