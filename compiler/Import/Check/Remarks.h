//===- Remarks.h - Traces that exporters leave ------------------*- C++ -*-===//
//
// Internal to compiler/Import.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_CHECK_REMARKS_H
#define MPC_COMPILER_IMPORT_CHECK_REMARKS_H

#include "compiler/Import/File/ModelFile.h"

#include <string>
#include <vector>

namespace mpc {

/// What an export lost that would be trained: batch norms that were folded into
/// products.
std::vector<std::string> findExportLosses(const onnx::GraphProto &graph);

/// What else a graph shows of an export that was not made for training: Dropout
/// without effect, a batch size that is fixed, names that several nodes have.
std::vector<std::string> findRemarks(const onnx::GraphProto &graph);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_CHECK_REMARKS_H
