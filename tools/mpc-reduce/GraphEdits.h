//===- GraphEdits.h - Edits that make an ONNX model smaller -----*- C++ -*-===//
//
// After each edit every name in the model is still defined. Whether the model
// is valid and still shows the bug, the caller must check.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_REDUCE_GRAPHEDITS_H
#define MPC_TOOLS_MPC_REDUCE_GRAPHEDITS_H

#include "onnx/onnx_pb.h"

#include <cstddef>
#include <string>
#include <vector>

namespace mpc {

/// Removes what is not part of the computation: training steps, documentation,
/// metadata.
void dropAnnotations(onnx::ModelProto &model);

/// Removes nodes, initializers, inputs, value types and functions that no
/// output of the graph needs.
void dropUnused(onnx::ModelProto &model);

/// Removes the outputs in [begin, end) from the graph.
void dropOutputs(onnx::ModelProto &model, size_t begin, size_t end);

/// Removes the nodes in [begin, end) and replaces each use of their results by
/// their input number `input`, not counting initializers. Returns false if a
/// node has no such input.
bool bypassNodes(onnx::ModelProto &model, size_t begin, size_t end,
                 size_t input);

/// Makes the results of a node the only outputs of the graph.
void endAt(onnx::ModelProto &model, size_t node);

/// Removes a node and makes its results inputs of the graph. Returns false if
/// the model does not state their types.
bool beginAt(onnx::ModelProto &model, size_t node);

} // namespace mpc

#endif // MPC_TOOLS_MPC_REDUCE_GRAPHEDITS_H
