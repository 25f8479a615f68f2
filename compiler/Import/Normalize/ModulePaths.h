//===- ModulePaths.h - Modules that exporters wrote down --------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_NORMALIZE_MODULEPATHS_H
#define MPC_COMPILER_IMPORT_NORMALIZE_MODULEPATHS_H

#include "onnx/onnx_pb.h"

#include <map>
#include <string>
#include <vector>

namespace mpc {

/// Keys of `metadata_props` of nodes: Python lists of the modules that a node
/// lies in, from the outermost on, and of their classes. The last entry of each
/// is the op of PyTorch.
inline constexpr char kNameScopes[] = "pkg.torch.onnx.name_scopes";
inline constexpr char kClassHierarchy[] = "pkg.torch.onnx.class_hierarchy";

/// The entry `key` of `metadata_props` of a node; "" if there is none.
std::string readNodeMetadata(const onnx::NodeProto &node, const char *key);

/// The strings of a Python list of them: "['', 'm', 'm.h.0', 'linear']".
std::vector<std::string> parseNames(const std::string &list);

/// The module that each node came from, by the node's name (or, if it has none,
/// that of its first output), as PyTorch's newer exporter writes it into
/// `metadata_props`: its names of nodes tell nothing. Nodes without are left
/// out.
std::map<std::string, std::string>
readModulePaths(const onnx::GraphProto &graph);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_NORMALIZE_MODULEPATHS_H
