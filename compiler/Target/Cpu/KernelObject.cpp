//===- KernelObject.cpp - Kernels as machine code -------------------------===//

#include "compiler/Target/Cpu/KernelObject.h"

#include "compiler/Target/Cpu/CpuTarget.h"
#include "compiler/Target/KernelModule.h"
#include "compiler/Target/TemporaryFolder.h"

#include "mlir/IR/Threading.h"

#include "lld/Common/Driver.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/SplitModule.h"

#include <mutex>

using namespace mlir;
using namespace mpc;

LLD_HAS_DRIVER(elf)

/// For CPUs without an instruction, LLVM rounds single values to bf16 by a
/// function of the compiler runtime, which only newer compilers have. Each
/// object therefore defines it: rounds to nearest even, NaN stays NaN.
static void defineRounding(llvm::Module &module) {
  constexpr llvm::StringLiteral name = "__truncsfbf2";
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *single = llvm::Type::getFloatTy(context);
  llvm::Type *half = llvm::Type::getBFloatTy(context);
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(half, {single}, /*isVarArg=*/false),
      llvm::GlobalValue::WeakODRLinkage, name, module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  llvm::IRBuilder<> builder(
      llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value *value = function->getArg(0);
  llvm::Value *bits = builder.CreateBitCast(value, builder.getInt32Ty());
  llvm::Value *odd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  llvm::Value *sum =
      builder.CreateAdd(bits, builder.CreateAdd(odd, builder.getInt32(0x7fff)));
  llvm::Value *quiet = builder.CreateOr(bits, 0x400000);
  llvm::Value *chosen =
      builder.CreateSelect(builder.CreateFCmpUNO(value, value), quiet, sum);
  llvm::Value *high =
      builder.CreateTrunc(builder.CreateLShr(chosen, 16), builder.getInt16Ty());
  builder.CreateRet(builder.CreateBitCast(high, half));
}

static llvm::Error internalError(const llvm::Twine &what) {
  return llvm::createStringError("internal error in code generation: " + what);
}

/// Links object files to a shared object, all in `folder`.
static llvm::Error link(const TemporaryFolder &folder,
                        llvm::ArrayRef<std::string> inputs,
                        std::string &object) {
  std::string output = folder.pathOf("kernels.so");
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  // The files are small, and lld aborts the process if it cannot start a
  // thread.
  std::vector<const char *> arguments = {
      "ld.lld",      "-shared",       "--threads=1", "--build-id=none", "-z",
      "noexecstack", "--strip-debug", "-o",          output.c_str()};
  for (const std::string &input : inputs)
    arguments.push_back(input.c_str());
  // The state of lld belongs to the process, and programs may compile in
  // several threads.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  lld::Result result = lld::lldMain(arguments, llvm::nulls(), stream,
                                    {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) {
    // The messages of lld if the disk is full.
    for (llvm::StringRef trouble : {"failed to open ", "failed to write "})
      if (llvm::StringRef(messages).contains(trouble))
        return llvm::createStringError(
            std::make_error_code(std::errc::io_error),
            "cannot write '" + output + "': " + messages);
    return internalError("linking the kernels failed: " + messages);
  }
  llvm::Expected<std::string> linked = folder.read("kernels.so");
  if (!linked)
    return linked.takeError();
  object = std::move(*linked);
  return llvm::Error::success();
}

/// Kernels of a part; fewer are not worth a thread.
static constexpr unsigned kKernelsOfPart = 24;
static constexpr unsigned kMaxParts = 64;

/// The number of parts that are compiled at the same time. It does not depend
/// on the machine, and so neither does the code.
static unsigned countParts(const llvm::Module &module) {
  unsigned kernels = llvm::count_if(module, [](const llvm::Function &function) {
    return !function.isDeclaration();
  });
  return std::clamp(kernels / kKernelsOfPart, 1u, kMaxParts);
}

/// Optimizes kernels and emits an object file; returns false if the target
/// emits none.
static bool compilePart(llvm::Module &module, llvm::TargetMachine &machine,
                        bool sanitize, std::string *assembly,
                        llvm::SmallVectorImpl<char> &object) {
  defineRounding(module);
  for (llvm::Function &function : module) {
    // 512-bit registers pay off, because kernels stream through memory.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  }
  optimizeKernels(module, machine, /*unroll=*/false);
  if (sanitize)
    sanitizeKernels(module);
  if (assembly) {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    emitKernels(*llvm::CloneModule(module), machine,
                llvm::CodeGenFileType::AssemblyFile, stream);
    *assembly = std::string(text);
  }
  llvm::raw_svector_ostream stream(object);
  return emitKernels(module, machine, llvm::CodeGenFileType::ObjectFile,
                     stream);
}

static std::unique_ptr<llvm::TargetMachine>
copyMachine(const llvm::TargetMachine &machine) {
  return std::unique_ptr<llvm::TargetMachine>(
      machine.getTarget().createTargetMachine(
          machine.getTargetTriple(), machine.getTargetCPU(),
          machine.getTargetFeatureString(), machine.Options,
          machine.getRelocationModel(), machine.getCodeModel(),
          machine.getOptLevel()));
}

/// Whether a kernel only calls another with more arguments.
static bool isCall(const llvm::Function &function) {
  return function.size() == 1 && function.front().size() == 2 &&
         llvm::isa<llvm::CallInst>(function.front().front());
}

/// Moves the kernels that only call others to a module of their own: there are
/// thousands of them in deep models, and nothing in them can be optimized. Null
/// if there are none.
static std::unique_ptr<llvm::Module> takeCalls(llvm::Module &module) {
  if (llvm::none_of(module, isCall))
    return nullptr;
  llvm::ValueToValueMapTy map;
  std::unique_ptr<llvm::Module> calls =
      llvm::CloneModule(module, map, [](const llvm::GlobalValue *value) {
        auto *function = llvm::dyn_cast<llvm::Function>(value);
        return function && isCall(*function);
      });
  for (llvm::Function &function : llvm::make_early_inc_range(module))
    if (isCall(function))
      function.eraseFromParent();
  return calls;
}

/// Compiles what takeCalls made.
static bool compileCalls(llvm::Module &module,
                         const llvm::TargetMachine &machine,
                         llvm::SmallVectorImpl<char> &object) {
  std::unique_ptr<llvm::TargetMachine> own = copyMachine(machine);
  own->setOptLevel(llvm::CodeGenOptLevel::None);
  llvm::raw_svector_ostream stream(object);
  return emitKernels(module, *own, llvm::CodeGenFileType::ObjectFile, stream);
}

/// Compiles the parts of a module on the threads of `context`. LLVM's contexts
/// and machines belong to one thread, so each part travels as bitcode.
static llvm::LogicalResult
compileParts(llvm::Module &module, unsigned parts, MLIRContext *context,
             const llvm::TargetMachine &machine,
             std::vector<llvm::SmallString<0>> &objects) {
  std::vector<llvm::SmallString<0>> codes;
  llvm::SplitModule(
      module, parts,
      [&](std::unique_ptr<llvm::Module> part) {
        llvm::raw_svector_ostream stream(codes.emplace_back());
        llvm::WriteBitcodeToFile(*part, stream);
      },
      /*PreserveLocals=*/false, /*RoundRobin=*/true);
  objects.resize(codes.size());
  return failableParallelForEachN(context, 0, codes.size(), [&](size_t i) {
    llvm::LLVMContext own;
    auto part =
        llvm::parseBitcodeFile(llvm::MemoryBufferRef(codes[i], "kernels"), own);
    if (!part) {
      llvm::consumeError(part.takeError());
      return failure();
    }
    return success(compilePart(**part, *copyMachine(machine),
                               /*sanitize=*/false, /*assembly=*/nullptr,
                               objects[i]));
  });
}

llvm::Error mpc::compileKernels(ModuleOp module, const CpuTarget &target,
                                std::string &object, std::string *assembly,
                                bool sanitize) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateKernels(module, context);
  if (!code)
    return internalError("the kernels could not be translated");
  llvm::TargetMachine &machine = *target.machine;
  code->setTargetTriple(machine.getTargetTriple());
  code->setDataLayout(machine.createDataLayout());
  bool isWhole = assembly || sanitize;
  std::unique_ptr<llvm::Module> calls = isWhole ? nullptr : takeCalls(*code);
  std::vector<llvm::SmallString<0>> objects(1);
  unsigned parts = isWhole ? 1 : countParts(*code);
  bool isEmitted =
      parts == 1 ? compilePart(*code, machine, sanitize, assembly, objects[0])
                 : succeeded(compileParts(*code, parts, module.getContext(),
                                          machine, objects));
  if (calls)
    isEmitted &= compileCalls(*calls, machine, objects.emplace_back());
  if (!isEmitted)
    return internalError("the target emits no object files");
  llvm::Expected<TemporaryFolder> folder =
      TemporaryFolder::create("mpc-kernels");
  if (!folder)
    return folder.takeError();
  std::vector<std::string> files;
  for (const auto &[i, bytes] : llvm::enumerate(objects)) {
    std::string name = ("kernels" + llvm::Twine(i) + ".o").str();
    if (llvm::Error error = folder->write(name, bytes))
      return error;
    files.push_back(folder->pathOf(name));
  }
  return link(*folder, files, object);
}
