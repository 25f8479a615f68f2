//===- KernelObject.cpp - Kernels to machine code -------------------------===//

#include "compiler/Target/KernelObject.h"

#include "compiler/Target/CpuTarget.h"
#include "compiler/Target/KernelModule.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace mpc;

LLD_HAS_DRIVER(elf)

/// Makes a shared object of an object file, both in `folder`.
static LogicalResult link(ModuleOp module, llvm::StringRef folder,
                          llvm::StringRef objectFile, std::string &object) {
  llvm::SmallString<128> output(folder);
  llvm::sys::path::append(output, "kernels.so");
  std::string input = objectFile.str(), target = std::string(output);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const char *arguments[] = {"ld.lld", "-shared",      "--build-id=none",
                             "-z",     "noexecstack",  "--strip-debug",
                             "-o",     target.c_str(), input.c_str()};
  lld::Result result = lld::lldMain(arguments, llvm::nulls(), stream,
                                    {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return module.emitError("internal error in code generation: linking the "
                            "kernels failed: ")
           << messages;
  auto buffer = llvm::MemoryBuffer::getFile(output);
  if (!buffer)
    return module.emitError("cannot read the linked kernels: ")
           << buffer.getError().message();
  object = (*buffer)->getBuffer().str();
  return success();
}

LogicalResult mpc::compileKernels(ModuleOp module, const CpuTarget &target,
                                  std::string &object, std::string *assembly) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateKernels(module, context);
  if (!code)
    return module.emitError("internal error in code generation: the kernels "
                            "could not be translated");
  llvm::TargetMachine &machine = *target.machine;
  code->setTargetTriple(machine.getTargetTriple());
  code->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *code) {
    // 512-bit registers pay off: kernels stream through memory.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  }
  optimizeKernels(*code, machine, /*unroll=*/false);
  if (assembly) {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    emitKernels(*llvm::CloneModule(*code), machine,
                llvm::CodeGenFileType::AssemblyFile, stream);
    *assembly = std::string(text);
  }

  llvm::SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("mpc-kernels", folder))
    return module.emitError("cannot create a temporary folder: ")
           << error.message();
  llvm::scope_exit cleanup([&] { llvm::sys::fs::remove_directories(folder); });
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "kernels.o");
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error)
    return module.emitError("cannot write '")
           << path << "': " << error.message();
  if (!emitKernels(*code, machine, llvm::CodeGenFileType::ObjectFile, file))
    return module.emitError("internal error in code generation: the target "
                            "emits no object files");
  file.close();
  if (file.has_error()) {
    file.clear_error();
    return module.emitError("cannot write '") << path << "': the disk is full";
  }
  return link(module, folder, path, object);
}
