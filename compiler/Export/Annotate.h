//===- Annotate.h - Notes at nodes of an ONNX file --------------*- C++ -*-===//
#ifndef MPC_COMPILER_EXPORT_ANNOTATE_H
#define MPC_COMPILER_EXPORT_ANNOTATE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstddef>
#include <map>
#include <string>

namespace mpc {

/// Values by key: "mpc.format" is "bf16".
using Notes = std::map<std::string, std::string>;

struct Annotations {
  Notes model;
  /// By the name of the node, or by that of its first output if the node has no
  /// name.
  std::map<std::string, Notes> nodes;
};

/// Writes the model of `originalPath` to `outPath` with notes in
/// `metadata_props`, which viewers show and runtimes ignore; existing notes
/// with a key "mpc.*" are removed. Nothing else changes, except that external
/// data is inlined, as exportTrained does. Returns the number of nodes that got
/// notes. Fails with a ModelFileError.
llvm::Expected<size_t> annotateModel(llvm::StringRef originalPath,
                                     const Annotations &annotations,
                                     llvm::StringRef outPath);

} // namespace mpc

#endif // MPC_COMPILER_EXPORT_ANNOTATE_H
