// Fuzz target for models.

#include "test/fuzz/targets.h"

#include "compiler/Import/Import.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <cstdlib>

void mpc::fuzz::import(const uint8_t *data, size_t size) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  unsigned numErrors = 0;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        numErrors +=
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        return mlir::success();
      });
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  llvm::MemoryBufferRef model(bytes, "model.onnx");
  ImportResult result = importOnnx(model, {}, context);
  // There is either a module or an error that was reported.
  if (bool(result.module) != (numErrors == 0) ||
      bool(result.module) != (result.error == ModelError::None))
    std::abort();
  // An import that continues after failures has the same outcome.
  ModelSurvey survey;
  ImportOptions options;
  options.survey = &survey;
  if (bool(importOnnx(model, options, context).module) != bool(result.module))
    std::abort();
}
