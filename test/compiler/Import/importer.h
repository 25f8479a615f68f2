// Imports untrusted bytes, for tests of invalid models.
#ifndef MPC_TEST_COMPILER_IMPORT_IMPORTER_H
#define MPC_TEST_COMPILER_IMPORT_IMPORTER_H

#include "compiler/Import/Import.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

namespace mpc {

/// Imports bytes and counts the errors. An MLIR context keeps every attribute,
/// so the context is replaced from time to time.
class Importer {
public:
  ImportResult run(const std::string &bytes,
                   const std::string &name = "model.onnx") {
    if (!context || ++runs % 500 == 0) {
      handler.reset();
      context = std::make_unique<mlir::MLIRContext>(
          mlir::MLIRContext::Threading::DISABLED);
      handler = std::make_unique<mlir::ScopedDiagnosticHandler>(
          context.get(), [this](mlir::Diagnostic &diagnostic) {
            numErrors +=
                diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
            last = diagnostic.str();
            return mlir::success();
          });
    }
    numErrors = 0;
    last.clear();
    return importOnnx(llvm::MemoryBufferRef(bytes, name), {}, *context);
  }

  /// Imports; expects either a module or an error that was reported.
  void expectClearAnswer(const std::string &bytes,
                         const std::string &name = "model.onnx") {
    ImportResult result = run(bytes, name);
    if (result.module) {
      EXPECT_EQ(result.error, ModelError::None);
      EXPECT_EQ(numErrors, 0u) << last;
    } else {
      EXPECT_NE(result.error, ModelError::None);
      EXPECT_GT(numErrors, 0u);
      EXPECT_NE(last, "");
    }
    // An import that continues after failures has the same outcome.
    ModelSurvey survey;
    ImportOptions options;
    options.survey = &survey;
    ImportResult surveyed =
        importOnnx(llvm::MemoryBufferRef(bytes, name), options, *context);
    EXPECT_EQ(bool(surveyed.module), bool(result.module)) << last;
  }

  unsigned numErrors = 0;
  std::string last;

private:
  unsigned runs = 0;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> handler;
};

} // namespace mpc

#endif // MPC_TEST_COMPILER_IMPORT_IMPORTER_H
