//===- StateDict.h - Weights for PyTorch's load_state_dict ------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_STATEDICT_H
#define MPC_TOOLS_MPC_CHECKPOINTS_STATEDICT_H

#include "mpc/dtype.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// A tensor of a safetensors file.
struct NamedTensor {
  std::string name;
  mpc_dtype_t dtype = MPC_DTYPE_F32;
  std::vector<int64_t> shape;
  std::vector<char> bytes;
};

/// The tensors that the file `like`, a state_dict of the model before it was
/// exported, names, with their trained values:
///
/// - A matrix that the exporter has transposed is transposed back.
/// - A tensor of at least two dimensions that training does not know takes the
///   values of another one if both have equal values in the file: they are
///   tied, and the exporter has kept one of them.
/// - What else training does not know, such as a buffer, is copied.
///
/// `notes` says which are tied and copied. Throws a Failure if shapes differ,
/// or if the file lacks trained tensors.
std::vector<NamedTensor> completeStateDict(std::vector<NamedTensor> trained,
                                           const std::string &like,
                                           std::vector<std::string> &notes);

/// The contents of a safetensors file.
std::string formatSafetensors(const std::vector<NamedTensor> &tensors);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_STATEDICT_H
