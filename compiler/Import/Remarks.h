//===- Remarks.h - Traces that exporters leave ------------------*- C++ -*-===//
//
// Internal to compiler/Import.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_REMARKS_H
#define MPC_COMPILER_IMPORT_REMARKS_H

#include "compiler/Import/ModelFile.h"

#include <string>
#include <vector>

namespace mpc {

/// What a graph shows of an export that was not made for training: norms that
/// were folded, Dropout without effect, a batch size that is fixed.
std::vector<std::string> findRemarks(const onnx::GraphProto &graph);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_REMARKS_H
