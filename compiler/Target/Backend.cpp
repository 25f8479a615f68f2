//===- Backend.cpp - The compiler's interface to a device -----------------===//

#include "compiler/Target/Backend.h"

#include "compiler/Catalog/Catalog.h"
#include "compiler/Target/Package.h"
#include "kernels/devices.h"

using namespace mlir;
using namespace mpc;

DeviceTarget::DeviceTarget(const Backend &backend,
                           std::vector<std::string> features,
                           llvm::StringRef model)
    : backend(backend), features(std::move(features)),
      machine(backend.machine(this->features, model)) {}

DeviceTarget::~DeviceTarget() = default;

llvm::Error DeviceTarget::generate(ModuleOp module,
                                   PackageVariant &variant) const {
  variant.device = backend.name().str();
  variant.module = module;
  return generateCode(module, variant);
}

Backend::~Backend() = default;

llvm::StringRef Backend::name() const { return row.name; }

llvm::StringRef Backend::title() const { return row.title; }

bool Backend::isAccelerator() const {
  return row.device_class == kernels::DeviceClass::Accelerator;
}

std::vector<std::string> Backend::architectures() const {
  std::vector<std::string> names;
  for (std::string_view name : kernels::list_architectures(row))
    names.emplace_back(name);
  return names;
}

std::string Backend::defaultArchitecture() const {
  return std::string(row.architecture);
}

bool Backend::computesIn(llvm::StringRef kernel, llvm::StringRef type,
                         llvm::ArrayRef<llvm::StringRef> features) const {
  return kernelComputesIn(kernel, name(), type, features);
}

bool Backend::computesIn(llvm::StringRef kernel, Type element,
                         llvm::ArrayRef<llvm::StringRef> features) const {
  std::string type;
  llvm::raw_string_ostream(type) << element;
  return computesIn(kernel, llvm::StringRef(type), features);
}

llvm::Error Backend::unknownTarget(llvm::StringRef architecture) const {
  return llvm::createStringError("unknown target '" + name() + ":" +
                                 architecture + "'");
}

bool Backend::gainsByFp8(llvm::ArrayRef<std::string>) const { return false; }
