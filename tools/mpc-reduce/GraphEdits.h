//===- GraphEdits.h - Ways to make an ONNX model smaller --------*- C++ -*-===//
//
// Each edit leaves a model whose names still refer to something; whether it is
// valid, and shows the bug, is for others to find out.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_REDUCE_GRAPHEDITS_H
#define MPC_TOOLS_MPC_REDUCE_GRAPHEDITS_H

#include "onnx/onnx_pb.h"

#include <cstddef>
#include <string>
#include <vector>

namespace mpc {

/// Removes what does not compute: training steps, documentation, metadata.
void dropAnnotations(onnx::ModelProto &model);

/// Removes nodes, initializers, inputs, types and functions that no output of
/// the graph needs.
void dropUnused(onnx::ModelProto &model);

/// Makes the graph give the outputs in [begin, end) no more.
void dropOutputs(onnx::ModelProto &model, size_t begin, size_t end);

/// Removes the nodes in [begin, end): what read a result of one reads its input
/// `input` instead, counting those that are no initializers. Returns false if a
/// node has no such input.
bool bypassNodes(onnx::ModelProto &model, size_t begin, size_t end,
                 size_t input);

/// Makes the results of a node the only outputs of the graph.
void endAt(onnx::ModelProto &model, size_t node);

/// Removes a node: its results become inputs of the graph. Returns false if the
/// model does not tell their types.
bool beginAt(onnx::ModelProto &model, size_t node);

} // namespace mpc

#endif // MPC_TOOLS_MPC_REDUCE_GRAPHEDITS_H
