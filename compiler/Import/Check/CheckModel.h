//===- CheckModel.h - Checks before the import ------------------*- C++ -*-===//
//
// Internal to compiler/Import.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_CHECK_CHECKMODEL_H
#define MPC_COMPILER_IMPORT_CHECK_CHECKMODEL_H

#include "compiler/Import/File/ModelFile.h"
#include "compiler/Import/Survey.h"

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"

namespace mpc {

/// The name of a node in messages and locations: its own, or that of its first
/// output.
llvm::StringRef nodeLabel(const onnx::NodeProto &node);

/// The op of a node, with the domain if that is not the default one.
std::string qualifiedOp(const onnx::NodeProto &node);

/// The location of diagnostics about a node.
mlir::Location nodeLocation(const onnx::NodeProto &node,
                            mlir::MLIRContext *context);

/// Checks everything that needs no shapes: opset, unsupported features, ops
/// (all unsupported ones in one error), that names are defined once and before
/// their use, numbers of inputs and outputs. Returns the opset of the default
/// domain, or fails after diagnostics. With a survey, unsupported ops are
/// recorded there and are not errors.
mlir::FailureOr<int64_t> checkModel(const ModelFile &model,
                                    mlir::MLIRContext *context,
                                    ModelSurvey *survey = nullptr);

/// Returns why a node cannot be imported; empty if it can.
std::string unsupportedReason(const onnx::NodeProto &node, int64_t opset);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_CHECK_CHECKMODEL_H
