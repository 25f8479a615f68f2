//===- OnnxWeights.h - The weights of an ONNX model -------------*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_WEIGHTS_ONNXWEIGHTS_H
#define MPC_PASSES_DRIVER_WEIGHTS_ONNXWEIGHTS_H

#include "passes/Weights/WeightsFile.h"

namespace mpc {

/// Reads the initializers of an ONNX model, by the names that import gives to
/// states. Throws a WeightsError.
OpenWeights openOnnxWeights;

} // namespace mpc

#endif // MPC_PASSES_DRIVER_WEIGHTS_ONNXWEIGHTS_H
