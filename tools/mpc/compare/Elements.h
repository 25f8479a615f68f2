//===- Elements.h - Load and store tensor elements --------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_COMPARE_ELEMENTS_H
#define MPC_TOOLS_MPC_COMPARE_ELEMENTS_H

#include "compiler/Reference/HostTensor.h"

#include "mpc/dtype.h"

#include <vector>

namespace mpc::tool {

/// Loads the `count` elements at `bytes`. Throws a Failure for 16- and 8-bit
/// floats, which the interpreter does not support.
std::vector<reference::Element> loadElements(mpc_dtype_t dtype,
                                             const void *bytes, size_t count);

/// Stores elements of this type to `bytes`.
void storeElements(mpc_dtype_t dtype,
                   const std::vector<reference::Element> &elements,
                   void *bytes);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPARE_ELEMENTS_H
