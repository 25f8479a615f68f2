//===- Backend.h - What the compiler asks of a device -----------*- C++ -*-===//
//
// One implementation for each row of kernels/devices.def, in a folder of its
// own. No other code of the compiler knows which devices there are. The passes
// that turn kernels into a device's code are in passes/Codegen.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_TARGET_BACKEND_H
#define MPC_COMPILER_TARGET_BACKEND_H

#include "compiler/Analysis/KernelDomain.h"
#include "compiler/Analysis/LaunchShape.h"
#include "compiler/Support/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace mpc {

class Backend;
struct PackageVariant;

namespace kernels {
struct DeviceRow;
} // namespace kernels

/// What a model is compiled for on one device.
class DeviceTarget {
public:
  DeviceTarget(const Backend &backend, std::vector<std::string> features)
      : backend(backend), features(std::move(features)) {}
  virtual ~DeviceTarget();

  /// Compiles the kernels of a module that went through all stages, and fills
  /// `variant`. An error with a code is about temporary files; others are ours.
  llvm::Error generate(mlir::ModuleOp module, PackageVariant &variant) const;

  const Backend &backend;
  /// What generated code may use and kernels/catalog.def asks for: LLVM's names
  /// of CPU features; of several architectures the oldest and all before it.
  const std::vector<std::string> features;

private:
  /// Adds the segments of code, and what else only this device has.
  virtual llvm::Error generateCode(mlir::ModuleOp module,
                                   PackageVariant &variant) const = 0;
};

/// What was asked of a device.
struct TargetRequest {
  std::vector<std::string> architectures;
  std::string cpu = "native"; ///< Option `target-cpu`.
};

/// A kind of device that programs are compiled for.
class Backend {
public:
  explicit Backend(const kernels::DeviceRow &row) : row(row) {}
  virtual ~Backend();

  llvm::StringRef name() const;  ///< "cuda".
  llvm::StringRef title() const; ///< "CUDA".
  /// Whether it is chosen for its speed: where formats are shared by several
  /// devices, they are made for it.
  bool isAccelerator() const;
  /// Those of its row, oldest first.
  std::vector<std::string> architectures() const;
  /// The one that its bare name stands for; "" if it has none.
  std::string defaultArchitecture() const;

  /// The machine that stands for a device with `features`.
  virtual Machine machine(llvm::ArrayRef<std::string> features) const = 0;
  /// What decides about the kernels that are formed.
  virtual const FusionLimits &fusionLimits() const = 0;
  /// The launch of a kernel with this domain; nothing if the device has no room
  /// for its sums.
  virtual std::optional<LaunchShape>
  launchShape(const KernelDomain &domain) const = 0;
  /// Whether a device with `features` runs the catalog's kernel natively on
  /// what the catalog calls `type`; what the rows of kernels/catalog.def say
  /// unless a device knows better.
  virtual bool computesIn(llvm::StringRef kernel, llvm::StringRef type,
                          llvm::ArrayRef<llvm::StringRef> features) const;
  bool computesIn(llvm::StringRef kernel, mlir::Type element,
                  llvm::ArrayRef<llvm::StringRef> features) const;
  /// Whether a device with `features` gains by multiplying in FP8.
  virtual bool gainsByFp8(llvm::ArrayRef<std::string> features) const;

  /// What is compiled for such a request. An unknown architecture or CPU is an
  /// error for the user.
  virtual llvm::Expected<std::unique_ptr<DeviceTarget>>
  findTarget(const TargetRequest &request) const = 0;

protected:
  /// What is wrong with the request for an unknown architecture.
  llvm::Error unknownTarget(llvm::StringRef architecture) const;

private:
  const kernels::DeviceRow &row;
};

// What the folders define.
#define MPC_DEVICE(name, Folder, ...)                                          \
  std::unique_ptr<Backend> create##Folder##Backend(                            \
      const kernels::DeviceRow &row);
#include "kernels/devices.def"

/// All of them, in the order of their rows.
llvm::ArrayRef<std::unique_ptr<Backend>> backends();
/// The backend of that name; null if there is none.
const Backend *findBackend(llvm::StringRef name);
/// The first one.
const Backend *defaultBackend();

/// The machine that FP8 is judged by, whatever the model is compiled for: the
/// newest architecture of the first accelerator.
Machine fastestAccelerator();

/// Makes the names of all backends the values of an option.
struct BackendValues {
  template <typename Option> void apply(Option &option) const {
    for (const std::unique_ptr<Backend> &backend : backends())
      option.getParser().addLiteralOption(
          backend->name(), static_cast<const Backend *>(backend.get()),
          backend->title());
  }
};

} // namespace mpc

#endif // MPC_COMPILER_TARGET_BACKEND_H
