//===- ModulePaths.h - Modules recorded by exporters ------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_NORMALIZE_MODULEPATHS_H
#define MPC_COMPILER_IMPORT_NORMALIZE_MODULEPATHS_H

#include "onnx/onnx_pb.h"

#include <map>
#include <string>
#include <vector>

namespace mpc {

/// Keys of `metadata_props` of nodes: Python lists of the modules that contain
/// a node, the outermost first, and of their classes. The last entry of each
/// list is the PyTorch op.
inline constexpr char kNameScopes[] = "pkg.torch.onnx.name_scopes";
inline constexpr char kClassHierarchy[] = "pkg.torch.onnx.class_hierarchy";

/// The entry `key` of `metadata_props` of a node; "" if there is none.
std::string readNodeMetadata(const onnx::NodeProto &node, const char *key);

/// Parses a Python list of strings: "['', 'm', 'm.h.0', 'linear']".
std::vector<std::string> parseNames(const std::string &list);

/// The module of each node, by the node's name (or, if it has none, by that of
/// its first output), as PyTorch's newer exporter writes it into
/// `metadata_props`: its node names do not contain it. Omits nodes without a
/// module.
std::map<std::string, std::string>
readModulePaths(const onnx::GraphProto &graph);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_NORMALIZE_MODULEPATHS_H
