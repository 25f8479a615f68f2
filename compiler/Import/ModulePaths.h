//===- ModulePaths.h - Modules that exporters wrote down --------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_MODULEPATHS_H
#define MPC_COMPILER_IMPORT_MODULEPATHS_H

#include "onnx/onnx_pb.h"

#include <map>
#include <string>

namespace mpc {

/// The module that each node came from, by the node's name (or, if it has none,
/// that of its first output), as PyTorch's newer exporter writes it into
/// `metadata_props`: its names of nodes tell nothing. Nodes without are left
/// out.
std::map<std::string, std::string>
readModulePaths(const onnx::GraphProto &graph);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_MODULEPATHS_H
