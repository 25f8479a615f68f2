//===- MemorySources.h - Data that a program already has --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_LIBRARY_MEMORYSOURCES_H
#define MPC_TOOLS_MPC_LIBRARY_MEMORYSOURCES_H

#include "tools/mpc/data/sources/DataSource.h"

#include "mpc/train.h"

#include <memory>
#include <vector>

namespace mpc::tool {

/// An array that the user keeps.
struct NamedTensor {
  std::string name;
  mpc_dtype_t dtype;
  std::vector<int64_t> shape;
  const void *data;
};

/// Checks and copies what describes the arrays. Throws a Failure that names the
/// one that cannot be used.
std::vector<NamedTensor> readTensors(const char *const *names,
                                     const mpc_tensor_t *tensors, size_t count);

/// A source of arrays in memory, which are not copied.
std::unique_ptr<DataSource>
openTensors(const std::vector<NamedTensor> &tensors);

/// A source that calls the user for the samples of these inputs.
std::unique_ptr<DataSource>
openCallbacks(const mpc_dataset_callbacks_t &callbacks,
              const std::vector<Binding> &inputs);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_LIBRARY_MEMORYSOURCES_H
