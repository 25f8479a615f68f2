//===- GpuTarget.cpp - GPUs that kernels are compiled for -----------------===//

#include "compiler/Target/Cuda/GpuTarget.h"

#include "compiler/Target/KernelModule.h"
#include "compiler/Target/TemporaryFolder.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace mpc;

// LLVM only warns about unknown names, so names must come from this table.
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

/// The PTX version with FP8 conversions for `sm_89`, which is newer than the
/// first one that supports `sm_89`.
static const char *const kPtxOfFp8 = "+ptx81";

static bool roundsToFp8(const llvm::Module &code) {
  return llvm::any_of(code.functions(), [](const llvm::Function &function) {
    return function.getName().starts_with("llvm.nvvm.ff.to.e4m3x2") ||
           function.getName().starts_with("llvm.nvvm.ff.to.e5m2x2");
  });
}

static std::unique_ptr<llvm::TargetMachine>
makeMachine(const GpuArchitecture &architecture, llvm::StringRef ptxVersion,
            std::string &error) {
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
  // allowContraction() marks what may be contracted.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, architecture.name, ptxVersion, options, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Lets the code generator contract products and sums into FMAs, except in 16
/// bits: LLVM computes rounded f32 results of 16-bit operands in 16 bits, so
/// contraction there would skip a rounding of the program, by up to several
/// units in the last place.
static void allowContraction(llvm::Module &code) {
  for (llvm::Function &function : code)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isa<llvm::FPMathOperator>(instruction)) {
        llvm::Type *type = instruction.getType()->getScalarType();
        instruction.setHasAllowContract(type->isFloatTy() ||
                                        type->isDoubleTy());
      }
}

llvm::Expected<std::string>
mpc::compilePtx(ModuleOp module, const GpuArchitecture &architecture) {
  const std::string internal = "internal error in code generation: ";
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateKernels(module, context);
  if (!code)
    return llvm::createStringError(internal +
                                   "the kernels could not be translated");
  const bool newer = architecture.capability == 89 && roundsToFp8(*code);
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(
      architecture, newer ? kPtxOfFp8 : architecture.ptxVersion, error);
  if (!machine)
    return llvm::createStringError(
        internal + "LLVM has no code generator for NVIDIA GPUs: " + error);
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  optimizeKernels(*code, *machine, /*unroll=*/true);
  allowContraction(*code);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  if (!emitKernels(*code, *machine, llvm::CodeGenFileType::AssemblyFile,
                   stream))
    return llvm::createStringError(internal + "the target emits no PTX");
  return std::string(text);
}

/// The number before `unit` in `line`, as in "24 registers"; -1 if there is
/// none.
static int64_t numberBefore(llvm::StringRef line, llvm::StringRef unit) {
  llvm::StringRef before = line.take_front(line.find(unit)).rtrim();
  if (before.size() == line.size())
    return -1;
  size_t digits = before.find_last_not_of("0123456789");
  int64_t number = -1;
  if (before.drop_front(digits == llvm::StringRef::npos ? 0 : digits + 1)
          .getAsInteger(10, number))
    return -1;
  return number;
}

std::vector<KernelResources> mpc::parseAssemblerLog(llvm::StringRef log) {
  std::vector<KernelResources> kernels;
  llvm::SmallVector<llvm::StringRef> lines;
  log.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    auto [before, name] = line.split("Compiling entry function '");
    if (!name.empty()) {
      kernels.emplace_back();
      kernels.back().kernel = name.split('\'').first.str();
    }
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stack = numberBefore(line, "bytes stack frame");
      kernel.spillStores = numberBefore(line, "bytes spill stores");
      kernel.spillLoads = numberBefore(line, "bytes spill loads");
    }
    if (line.contains(": Used ")) {
      kernel.registers = numberBefore(line, "registers");
      // The log omits shared memory if a kernel uses none.
      kernel.shared = std::max<int64_t>(numberBefore(line, "bytes smem"), 0);
    }
  }
  return kernels;
}

llvm::Expected<std::optional<Assembly>>
mpc::assemblePtx(llvm::StringRef ptx, const GpuArchitecture &architecture) {
  llvm::ErrorOr<std::string> ptxas = llvm::sys::findProgramByName("ptxas");
  if (!ptxas)
    return std::nullopt;
  llvm::Expected<TemporaryFolder> folder = TemporaryFolder::create("mpc-ptx");
  if (!folder)
    return folder.takeError();
  if (llvm::Error error = folder->write("kernels.ptx", ptx))
    return error;
  std::string source = folder->pathOf("kernels.ptx"),
              cubin = folder->pathOf("kernels.cubin"),
              log = folder->pathOf("log"),
              arch = std::string("-arch=") + architecture.name;
  llvm::StringRef arguments[] = {*ptxas, arch, "-v", "-o", cubin, source};
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(), llvm::StringRef(log), llvm::StringRef(log)};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(*ptxas, arguments, std::nullopt,
                                       redirects, /*SecondsToWait=*/0,
                                       /*MemoryLimit=*/0, &message);
  llvm::Expected<std::string> output = folder->read("log");
  if (!output)
    return output.takeError();
  if (code != 0)
    return llvm::createStringError("internal error in code generation: ptxas "
                                   "failed for " +
                                   arch + ": " + message + *output);
  llvm::Expected<std::string> assembled = folder->read("kernels.cubin");
  if (!assembled)
    return assembled.takeError();
  return Assembly{std::move(*assembled), parseAssemblerLog(*output)};
}
