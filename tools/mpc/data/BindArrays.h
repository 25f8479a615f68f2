//===- BindArrays.h - Match arrays with inputs ------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_BINDARRAYS_H
#define MPC_TOOLS_MPC_DATA_BINDARRAYS_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/data/sources/DataSource.h"

#include <string>
#include <vector>

namespace mpc::tool {

/// "float32[N,1,8,8]".
std::string expectedType(const Binding &input);

/// Throws a Failure if the data contains nothing, although there are inputs.
void requireArrays(const DataSource &source,
                   const std::vector<Binding> &inputs);

/// The name of the array that fits an input; throws a Failure that says what is
/// wrong, and what may help, if there is none.
std::string findArray(const DataSource &source, const Binding &input);

/// Reads the array that findArray returned, under the name of the input.
std::vector<StoredArray> readArray(const DataSource &source,
                                   const std::string &name,
                                   const Binding &input,
                                   std::vector<std::string> &notes);

/// Adds a note if the array has another type than the input.
void noteConversion(const npz::ArrayType &array, const Binding &input,
                    const std::string &path, const std::string &remark,
                    std::vector<std::string> &notes);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_BINDARRAYS_H
