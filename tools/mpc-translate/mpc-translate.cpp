//===- mpc-translate.cpp - ONNX in, IR out; kernels in, PTX out -----------===//
//
// Runs the importer or the GPU code generator alone, for mpc developers and
// tests. Exit codes are those of ModelError.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/OpTable.h"
#include "compiler/Import/Import.h"
#include "compiler/Support/DebugFlags.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Target/Cuda/GpuTarget.h"
#include "tools/ExitCodes.h"
#include "tools/Register.h"
#include "tools/StandardStreams.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace llvm;

enum class Action { ImportOnnx, ToPtx };
static cl::opt<Action>
    action(cl::Required, cl::desc("Action:"),
           cl::values(clEnumValN(Action::ImportOnnx, "import-onnx",
                                 "Import an ONNX model"),
                      clEnumValN(Action::ToPtx, "kernels-to-ptx",
                                 "Compile lowered GPU kernels (IR) to PTX")));
static cl::opt<std::string> input(cl::Positional, cl::init("-"),
                                  cl::desc("<model.onnx or kernels.mlir>"));
static cl::opt<std::string> arch("arch", cl::init("sm_80"),
                                 cl::desc("Architecture to compile for"));
static cl::opt<std::string> output("o", cl::init("-"), cl::desc("Output file"),
                                   cl::value_desc("file"));
static cl::list<std::string> dims("dim", cl::value_desc("NAME=N"),
                                  cl::desc("Bind a symbolic dimension"));
static cl::opt<int64_t> batch("batch", cl::desc("Bind the batch dimension"));
static cl::list<std::string>
    freeze("freeze", cl::value_desc("regex"),
           cl::desc("Do not train initializers that match"));
static cl::list<std::string> train("train", cl::value_desc("regex"),
                                   cl::desc("Train initializers that match"));
static cl::list<std::string> detach("detach", cl::value_desc("regex"),
                                    cl::desc("Stop gradients at values"));
static cl::list<std::string>
    paddings("padding-idx", cl::value_desc("NAME:ROW"),
             cl::desc("Do not train the row by lookups"));
static cl::opt<bool> float64("float64", cl::desc("Import floats as f64"));
static cl::opt<bool> locations("locations", cl::desc("Print locations"));

/// Splits at the last separator, because names may contain it.
static bool parsePairs(StringRef option, char separator,
                       const cl::list<std::string> &bindings,
                       std::map<std::string, int64_t> &pairs) {
  for (const std::string &binding : bindings) {
    auto [name, size] = StringRef(binding).rsplit(separator);
    int64_t number;
    if (name.empty() || size.getAsInteger(10, number)) {
      errs() << "mpc-translate: error: " << option << " " << binding
             << " is not of the form NAME" << separator << "N\n";
      return false;
    }
    pairs[name.str()] = number;
  }
  return true;
}

static int writeTo(StringRef path, function_ref<void(raw_ostream &)> write) {
  std::error_code code;
  ToolOutputFile file(path, code, sys::fs::OF_Text);
  if (code) {
    errs() << "mpc-translate: error: cannot open '" << path
           << "': " << code.message() << "\n";
    return mpc::exitCode(mpc::ModelError::Io);
  }
  write(file.os());
  file.keep();
  return 0;
}

static int compileToPtx() {
  const mpc::GpuArchitecture *architecture = mpc::findGpuArchitecture(arch);
  if (!architecture) {
    errs() << "mpc-translate: error: unknown architecture '" << arch << "'\n";
    return mpc::exitCode(mpc::ModelError::Usage);
  }
  mlir::DialectRegistry registry;
  mpc::registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(input, &context);
  if (!module)
    return mpc::exitCode(mpc::ModelError::Invalid);
  Expected<std::string> ptx = mpc::compilePtx(*module, *architecture);
  if (!ptx) {
    errs() << "mpc-translate: error: " << toString(ptx.takeError()) << "\n";
    return mpc::exitCode(mpc::ModelError::Invalid);
  }
  return writeTo(output, [&](raw_ostream &stream) { stream << *ptx; });
}

static int import() {
  mpc::ImportOptions options;
  if (!parsePairs("--dim", '=', dims, options.dims) ||
      !parsePairs("--padding-idx", ':', paddings, options.paddingRows))
    return mpc::exitCode(mpc::ModelError::Usage);
  if (batch.getNumOccurrences())
    options.batch = batch;
  options.freeze.assign(freeze.begin(), freeze.end());
  options.train.assign(train.begin(), train.end());
  options.detach.assign(detach.begin(), detach.end());
  options.float64 = float64;

  mlir::MLIRContext context;
  // Use the base name, so that messages do not depend on the folder.
  mpc::ModelDiagnosticHandler handler(&context, sys::path::filename(input),
                                      errs());
  mpc::ImportResult result = mpc::importOnnx(input, options, context);
  for (const std::string &note : result.notes)
    errs() << sys::path::filename(input) << ": note: " << note << "\n";
  if (!result.module)
    return mpc::exitCode(result.error);

  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(/*enable=*/true);
  return writeTo(output, [&](raw_ostream &stream) {
    result.module->print(stream, flags);
  });
}

int main(int argc, char **argv) {
  mpc::openStandardStreams();
  InitLLVM init(argc, argv);
  mpc::registerDebugFlags();
  cl::ParseCommandLineOptions(argc, argv, "mpc importer and PTX compiler\n");
  switch (action) {
  case Action::ToPtx:
    return compileToPtx();
  case Action::ImportOnnx:
    return import();
  }
}
