//===- Compile.cpp - One compilation, from file to file -------------------===//
//
// Import, the stages of Pipeline.cpp with their dumps, code, package.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/AmpLowering.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Export/AtomicFile.h"
#include "compiler/Import/Import.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Target/CpuTarget.h"
#include "compiler/Target/KernelObject.h"
#include "compiler/Target/Package.h"
#include "passes/Pipeline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mpc;

/// Exit codes of the tools; see compiler/Import/ModelError.h for the others.
static constexpr int kFailure = 1;
static constexpr int kUsage = 2;
static constexpr int kInvalidModel = 3;
static constexpr int kIo = 4;

static std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

/// The options a package remembers.
static std::vector<std::pair<std::string, std::string>>
describe(const CompileOptions &options, ModuleOp module) {
  auto loss = module->getAttrOfType<StringAttr>("mpc.loss");
  return {{"precision", options.precision},
          {"optimizer", options.optimizer},
          {"loss", loss ? loss.getValue().str() : options.loss},
          {"lr", number(options.lr)},
          {"weight-decay", number(options.weightDecay)},
          {"clip-norm", number(options.clipNorm)},
          {"accumulate", std::to_string(options.accumulate)},
          {"model_path", options.modelPath}};
}

namespace {

class Compilation {
public:
  explicit Compilation(const CompileOptions &options) : options(options) {
    DialectRegistry registry;
    registry.insert<amp::AmpDialect, train::TrainDialect, exec::ExecDialect,
                    func::FuncDialect, arith::ArithDialect>();
    train::registerAmpLowering(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  CompileResult run() {
    ModelDiagnosticHandler handler(&context, options.model);
    result.exitCode = compile();
    return std::move(result);
  }

private:
  int compile() {
    llvm::Expected<CpuTarget> target = findCpuTarget(options.targetCpu);
    if (!target) {
      llvm::errs() << "error: " << llvm::toString(target.takeError()) << "\n";
      return kUsage;
    }
    ImportOptions importOptions;
    importOptions.dims = options.dims;
    importOptions.batch = options.batch;
    importOptions.freeze = options.freeze;
    importOptions.float64 = options.precision == "fp64";
    ImportResult imported = importOnnx(options.model, importOptions, context);
    result.notes = imported.notes;
    if (!imported.module)
      return exitCode(imported.error);
    module = std::move(imported.module);
    if (int code = dump(0, "import"))
      return code;
    for (auto [i, stage] : llvm::enumerate(stageNames())) {
      if (int code = runStage(i + 1, stage))
        return code;
      if (stage == options.stopAfter)
        return 0;
    }
    return writePackage(*target);
  }

  int runStage(unsigned index, const std::string &stage) {
    PassManager manager(&context);
    addStage(manager, stage, options);
    bool done = succeeded(manager.run(*module));
    if (stage == "grad" || !done)
      takeNotes();
    if (!done)
      // What a user's model can get wrong shows in the first two stages.
      return index <= 2 ? kInvalidModel : kFailure;
    if (stage == "precision")
      if (auto report = (*module)->getAttrOfType<StringAttr>("mpc.report"))
        result.report = report.getValue().str();
    return dump(index, stage);
  }

  /// Decisions that passes made and the user should hear of.
  void takeNotes() {
    if (auto notes = (*module)->getAttrOfType<ArrayAttr>("mpc.notes"))
      for (auto note : notes.getAsRange<StringAttr>())
        result.notes.push_back(note.getValue().str());
    (*module)->removeAttr("mpc.notes");
  }

  int dump(unsigned index, const std::string &stage) {
    if (options.dumpStages.empty())
      return 0;
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpStages)) {
      llvm::errs() << "error: cannot create folder '" << options.dumpStages
                   << "': " << error.message() << "\n";
      return kIo;
    }
    llvm::SmallString<128> path(options.dumpStages);
    llvm::sys::path::append(path,
                            std::to_string(index) + "-" + stage + ".mlir");
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream, OpPrintingFlags().elideLargeElementsAttrs(64));
    return write(path, text);
  }

  int writePackage(const CpuTarget &target) {
    PackageContents contents;
    contents.model = llvm::sys::path::filename(options.model).str();
    contents.report = result.report;
    contents.options = describe(options, *module);
    contents.accumulate = options.accumulate;
    if (failed(compileKernels(*module, target, contents.code)))
      return kFailure;
    std::string package = buildPackage(*module, target, contents);
    result.packageBytes = package.size();
    if (options.output.empty())
      return 0;
    return write(options.output, package);
  }

  /// Writes a file whole or not at all; returns an exit code.
  static int write(llvm::StringRef path, llvm::StringRef content) {
    auto tryWrite = [&]() -> llvm::Error {
      llvm::Expected<AtomicFile> file = AtomicFile::create(path);
      if (!file)
        return file.takeError();
      if (llvm::Error error = file->write({content.data(), content.size()}))
        return error;
      return file->commit();
    };
    llvm::Error error = tryWrite();
    if (!error)
      return 0;
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return kIo;
  }

  const CompileOptions &options;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  CompileResult result{};
};

} // namespace

/// The first of the targets that no code is generated for; "" if there is none.
static llvm::StringRef findUnsupportedTarget(const CompileOptions &options) {
  for (const std::string &target : options.targets)
    if (target != "cpu")
      return target;
  return "";
}

CompileResult mpc::compileModel(const CompileOptions &options) {
  if (llvm::StringRef target = findUnsupportedTarget(options);
      !target.empty()) {
    llvm::errs() << "error: this build of mpc generates code for the target "
                    "'cpu' only, not for '"
                 << target << "'; leave it out of --target\n";
    CompileResult result{};
    result.exitCode = kFailure;
    return result;
  }
  return Compilation(options).run();
}
