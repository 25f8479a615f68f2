//===- KernelObject.cpp - Kernels as machine code -------------------------===//

#include "compiler/Target/Cpu/KernelObject.h"

#include "compiler/Target/Cpu/CpuTarget.h"
#include "compiler/Target/KernelModule.h"
#include "compiler/Target/TemporaryFolder.h"

#include "lld/Common/Driver.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace mpc;

LLD_HAS_DRIVER(elf)

/// For CPUs without an instruction, LLVM rounds single values to bf16 by a
/// function of the compiler runtime, which only newer compilers have. The
/// object therefore defines it: rounds to nearest even, NaN stays NaN.
static void defineRounding(llvm::Module &module) {
  constexpr llvm::StringLiteral name = "__truncsfbf2";
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *single = llvm::Type::getFloatTy(context);
  llvm::Type *half = llvm::Type::getBFloatTy(context);
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(half, {single}, /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, name, module);
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

/// Links an object file to a shared object, both in `folder`.
static llvm::Error link(const TemporaryFolder &folder, const std::string &input,
                        std::string &object) {
  std::string output = folder.pathOf("kernels.so");
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  // The file is small, and lld aborts the process if it cannot start a thread.
  const char *arguments[] = {"ld.lld",          "-shared", "--threads=1",
                             "--build-id=none", "-z",      "noexecstack",
                             "--strip-debug",   "-o",      output.c_str(),
                             input.c_str()};
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
  defineRounding(*code);
  for (llvm::Function &function : *code) {
    // 512-bit registers pay off, because kernels stream through memory.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  }
  optimizeKernels(*code, machine, /*unroll=*/false);
  if (sanitize)
    sanitizeKernels(*code);
  if (assembly) {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    emitKernels(*llvm::CloneModule(*code), machine,
                llvm::CodeGenFileType::AssemblyFile, stream);
    *assembly = std::string(text);
  }

  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (!emitKernels(*code, machine, llvm::CodeGenFileType::ObjectFile, stream))
    return internalError("the target emits no object files");
  llvm::Expected<TemporaryFolder> folder =
      TemporaryFolder::create("mpc-kernels");
  if (!folder)
    return folder.takeError();
  if (llvm::Error error = folder->write("kernels.o", bytes))
    return error;
  return link(*folder, folder->pathOf("kernels.o"), object);
}
