//===- ImportOptions.h - Options of a compilation for import ----*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_IMPORTOPTIONS_H
#define MPC_PASSES_DRIVER_IMPORTOPTIONS_H

#include "compiler/Import/Import.h"
#include "compiler/Support/Precision/Precisions.h"
#include "passes/Driver/Pipeline.h"

namespace mpc {

inline ImportOptions toImportOptions(const CompileOptions &options) {
  using BatchNorm = ImportOptions::BatchNorm;
  ImportOptions result;
  result.dims = options.dims;
  if (!options.batches.empty())
    result.batch = options.batches.front();
  result.freeze = options.freeze;
  result.train = options.train;
  result.trainOnly = options.trainOnly;
  result.detach = options.detach;
  result.extraOutputs = options.extraOutputs;
  result.paddingRows = options.paddingRows;
  result.maxOps = options.maxOps;
  if (!options.batchNorm.empty())
    result.batchNorm = options.batchNorm == "train"    ? BatchNorm::Train
                       : options.batchNorm == "frozen" ? BatchNorm::Frozen
                                                       : BatchNorm::AsExported;
  result.syncBatchNorm = options.syncBatchNorm;
  result.float64 = precisionOf(options.precision).wide == Format::F64;
  return result;
}

/// Imports a file or, if `bytes` is set, a model in memory of this name.
inline ImportResult importModel(const std::string &name,
                                std::optional<llvm::StringRef> bytes,
                                ImportOptions options,
                                mlir::MLIRContext &context) {
  if (!bytes)
    return importOnnx(name, options, context);
  options.hasFolder = name.find('/') != std::string::npos;
  return importOnnx(llvm::MemoryBufferRef(*bytes, name), options, context);
}

} // namespace mpc

#endif // MPC_PASSES_DRIVER_IMPORTOPTIONS_H
