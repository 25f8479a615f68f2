//===- OpenWeights.h - Open files with weights ------------------*- C++ -*-===//
#ifndef MPC_PASSES_WEIGHTS_OPENWEIGHTS_H
#define MPC_PASSES_WEIGHTS_OPENWEIGHTS_H

#include <memory>
#include <string>

namespace mpc {

class WeightsFile;

/// Opens a file with weights. Throws a WeightsError.
using OpenWeights = std::unique_ptr<WeightsFile>(const std::string &path);

/// Opens a safetensors file, or that of a checkpoint. Offsets count from its
/// beginning.
OpenWeights openSafetensorsWeights;

/// Whether the name of a file is that of an ONNX model.
bool isModelName(const std::string &path);

} // namespace mpc

#endif // MPC_PASSES_WEIGHTS_OPENWEIGHTS_H
