//===- mpc-translate.cpp - ONNX in, IR out --------------------------------===//
//
// The importer on its own, for people who work on mpc and for its tests. Exit
// codes are those of ModelError.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Import.h"
#include "compiler/Support/DebugFlags.h"
#include "compiler/Support/Diagnostics.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace llvm;

static cl::opt<bool> importFlag("import-onnx", cl::Required,
                                cl::desc("Import an ONNX model"));
static cl::opt<std::string> input(cl::Positional, cl::Required,
                                  cl::desc("<model.onnx>"));
static cl::opt<std::string> output("o", cl::init("-"),
                                   cl::desc("Where the IR goes"),
                                   cl::value_desc("file"));
static cl::list<std::string> dims("dim", cl::value_desc("NAME=N"),
                                  cl::desc("Bind a symbolic dimension"));
static cl::opt<int64_t> batch("batch", cl::desc("Bind the batch dimension"));
static cl::list<std::string>
    freeze("freeze", cl::value_desc("regex"),
           cl::desc("Do not train initializers that match"));
static cl::opt<bool> float64("float64", cl::desc("Import floats as f64"));
static cl::opt<bool> locations("locations", cl::desc("Print locations"));

/// Splits at the last '=', since names may hold one.
static bool parseDims(mpc::ImportOptions &options) {
  for (const std::string &binding : dims) {
    auto [name, size] = StringRef(binding).rsplit('=');
    int64_t number;
    if (name.empty() || size.getAsInteger(10, number)) {
      errs() << "mpc-translate: error: --dim " << binding
             << " is not of the form NAME=N\n";
      return false;
    }
    options.dims[name.str()] = number;
  }
  return true;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  mpc::registerDebugFlags();
  cl::ParseCommandLineOptions(argc, argv, "mpc model importer\n");

  mpc::ImportOptions options;
  if (!parseDims(options))
    return mpc::exitCode(mpc::ModelError::Usage);
  if (batch.getNumOccurrences())
    options.batch = batch;
  options.freeze.assign(freeze.begin(), freeze.end());
  options.float64 = float64;

  mlir::MLIRContext context;
  // The base name, so that messages do not depend on the folder.
  mpc::ModelDiagnosticHandler handler(&context, sys::path::filename(input));
  mpc::ImportResult result = mpc::importOnnx(input, options, context);
  for (const std::string &note : result.notes)
    errs() << sys::path::filename(input) << ": note: " << note << "\n";
  if (!result.module)
    return mpc::exitCode(result.error);

  std::error_code code;
  ToolOutputFile file(output, code, sys::fs::OF_Text);
  if (code) {
    errs() << "mpc-translate: error: cannot open '" << output
           << "': " << code.message() << "\n";
    return mpc::exitCode(mpc::ModelError::Io);
  }
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(/*enable=*/true);
  result.module->print(file.os(), flags);
  file.keep();
  return 0;
}
