//===- ExportDiagnostics.h - Traces of exporters ----------------*- C++ -*-===//
//
// Internal to compiler/Import.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_CHECK_EXPORTDIAGNOSTICS_H
#define MPC_COMPILER_IMPORT_CHECK_EXPORTDIAGNOSTICS_H

#include "compiler/Import/File/ModelFile.h"

#include <string>
#include <vector>

namespace mpc {

/// Finds trainable parts that the export lost: batch norms that were folded
/// into products.
std::vector<std::string> findExportLosses(const onnx::GraphProto &graph);

/// Finds other signs of an export that was not made for training: Dropout
/// without effect, a fixed batch size, names shared by several nodes.
std::vector<std::string> findRemarks(const onnx::GraphProto &graph);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_CHECK_EXPORTDIAGNOSTICS_H
