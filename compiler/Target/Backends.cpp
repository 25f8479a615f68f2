//===- Backends.cpp - List of all backends --------------------------------===//

#include "compiler/Target/Backend.h"

#include "kernels/devices.h"

using namespace mpc;

llvm::ArrayRef<std::unique_ptr<Backend>> mpc::backends() {
  static const std::vector<std::unique_ptr<Backend>> all = [] {
    std::vector<std::unique_ptr<Backend>> made;
#define MPC_DEVICE(name, Folder, ...)                                          \
  made.push_back(create##Folder##Backend(*kernels::find_device(#name)));
#include "kernels/devices.def"
    return made;
  }();
  return all;
}

const Backend *mpc::findBackend(llvm::StringRef name) {
  for (const std::unique_ptr<Backend> &backend : backends())
    if (backend->name() == name)
      return backend.get();
  return nullptr;
}

const Backend *mpc::defaultBackend() { return backends().front().get(); }

Machine mpc::machineOfFp8() { return findKnownMachine("h100")->machine; }
