//===- GpuTarget.cpp - The GPUs that kernels are compiled for -------------===//

#include "compiler/Target/GpuTarget.h"

#include "compiler/Target/KernelModule.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace mpc;

// LLVM warns of a name it does not know and goes on: names come from here.
static const GpuArchitecture architectures[] = {
    {"sm_70", 70, "+ptx63"},   {"sm_75", 75, "+ptx63"},
    {"sm_80", 80, "+ptx71"},   {"sm_86", 86, "+ptx71"},
    {"sm_87", 87, "+ptx74"},   {"sm_89", 89, "+ptx78"},
    {"sm_90", 90, "+ptx78"},   {"sm_100", 100, "+ptx86"},
    {"sm_103", 103, "+ptx88"}, {"sm_120", 120, "+ptx87"},
};

llvm::ArrayRef<GpuArchitecture> mpc::gpuArchitectures() {
  return architectures;
}

const GpuArchitecture *mpc::findGpuArchitecture(llvm::StringRef name) {
  for (const GpuArchitecture &architecture : architectures)
    if (name == architecture.name)
      return &architecture;
  return nullptr;
}

std::vector<std::string> mpc::gpuFeatures(const GpuArchitecture &architecture) {
  std::vector<std::string> names;
  for (const GpuArchitecture &older : architectures)
    if (older.capability <= architecture.capability)
      names.push_back(older.name);
  return names;
}

static std::unique_ptr<llvm::TargetMachine>
makeMachine(const GpuArchitecture &architecture, std::string &error) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, architecture.name, architecture.ptxVersion, options, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

LogicalResult mpc::compilePtx(ModuleOp module,
                              const GpuArchitecture &architecture,
                              std::string &ptx) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      makeMachine(architecture, error);
  if (!machine)
    return module.emitError("internal error in code generation: LLVM has no "
                            "code generator for NVIDIA GPUs: ")
           << error;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateKernels(module, context);
  if (!code)
    return module.emitError("internal error in code generation: the kernels "
                            "could not be translated");
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  optimizeKernels(*code, *machine, /*unroll=*/true);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  if (!emitKernels(*code, *machine, llvm::CodeGenFileType::AssemblyFile,
                   stream))
    return module.emitError("internal error in code generation: the target "
                            "emits no PTX");
  ptx = std::string(text);
  return success();
}

static std::string readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

llvm::Expected<std::optional<Assembly>>
mpc::assemblePtx(llvm::StringRef ptx, const GpuArchitecture &architecture) {
  llvm::ErrorOr<std::string> ptxas = llvm::sys::findProgramByName("ptxas");
  if (!ptxas)
    return std::nullopt;
  llvm::SmallString<128> folder;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("mpc-ptx", folder))
    return llvm::createStringError("cannot create a temporary folder: " +
                                   code.message());
  llvm::scope_exit cleanup([&] { llvm::sys::fs::remove_directories(folder); });
  auto pathOf = [&](llvm::StringRef name) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return std::string(path);
  };
  std::string source = pathOf("kernels.ptx"), cubin = pathOf("kernels.cubin"),
              log = pathOf("log");
  {
    std::error_code code;
    llvm::raw_fd_ostream file(source, code);
    file << ptx;
    file.close();
    if (code || file.has_error()) {
      file.clear_error();
      return llvm::createStringError("cannot write '" + source + "'");
    }
  }
  std::string arch = std::string("-arch=") + architecture.name;
  llvm::StringRef arguments[] = {*ptxas, arch, "-v", "-o", cubin, source};
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(), llvm::StringRef(log), llvm::StringRef(log)};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(*ptxas, arguments, std::nullopt,
                                       redirects, /*SecondsToWait=*/0,
                                       /*MemoryLimit=*/0, &message);
  Assembly result;
  result.log = readFile(log);
  if (code != 0)
    return llvm::createStringError("ptxas failed for " + arch + ": " + message +
                                   result.log);
  result.cubin = readFile(cubin);
  return result;
}
