//===- Backend.h - The compiler's interface to a device ---------*- C++ -*-===//
//
// Each row of kernels/devices.def has one implementation, in a folder of its
// own. No other code of the compiler depends on the set of devices. The passes
// that turn kernels into a device's code are in passes/Codegen.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_TARGET_BACKEND_H
#define MPC_COMPILER_TARGET_BACKEND_H

#include "compiler/Analysis/KernelDomain.h"
#include "compiler/Analysis/LaunchShape.h"
#include "compiler/Support/Machine/Machine.h"

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

/// The target of a compilation on one device.
class DeviceTarget {
public:
  /// `model` is the name of the CPU; see Backend::machine.
  DeviceTarget(const Backend &backend, std::vector<std::string> features,
               llvm::StringRef model = "");
  virtual ~DeviceTarget();

  /// Compiles the kernels of a module that went through all stages, and fills
  /// `variant`. An error with an error code concerns temporary files; any other
  /// error is a bug of mpc.
  llvm::Error generate(mlir::ModuleOp module, PackageVariant &variant) const;

  const Backend &backend;
  /// Features that generated code may use and kernels/catalog.def may require:
  /// names of CPU features (LLVM's, and those of Cpu/CpuTarget.h), or the
  /// oldest of the requested architectures and all older ones.
  const std::vector<std::string> features;
  /// Its rates: those of a known machine, unless the user gave others.
  Machine machine;

private:
  /// Adds the segments of code, and other data of this device.
  virtual llvm::Error generateCode(mlir::ModuleOp module,
                                   PackageVariant &variant) const = 0;
};

/// The user's request for a device.
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
  /// Returns true if users choose the device for its speed: formats that
  /// several devices share are chosen for it.
  bool isAccelerator() const;
  /// The architectures of its row, oldest first.
  std::vector<std::string> architectures() const;
  /// The architecture that the bare name of the device stands for; "" if it has
  /// none.
  std::string defaultArchitecture() const;

  /// The known machine that stands for a device with `features`; for CPUs, one
  /// of several by its name (LLVM's).
  virtual Machine machine(llvm::ArrayRef<std::string> features,
                          llvm::StringRef model = "") const = 0;
  /// The limits for the fusion of kernels.
  virtual const FusionLimits &fusionLimits() const = 0;
  /// The launch of a kernel with this domain; nothing if its sums do not fit on
  /// the device.
  virtual std::optional<LaunchShape>
  launchShape(const KernelDomain &domain) const = 0;
  /// Returns true if a device with `features` runs the catalog's kernel
  /// natively on `type` (a name of the catalog). By default, as the rows of
  /// kernels/catalog.def say.
  virtual bool computesIn(llvm::StringRef kernel, llvm::StringRef type,
                          llvm::ArrayRef<llvm::StringRef> features) const;
  bool computesIn(llvm::StringRef kernel, mlir::Type element,
                  llvm::ArrayRef<llvm::StringRef> features) const;
  /// Returns true if multiplying in FP8 is faster on a device with `features`.
  virtual bool gainsByFp8(llvm::ArrayRef<std::string> features) const;

  /// Finds the target for a request. An unknown architecture or CPU is a user
  /// error.
  virtual llvm::Expected<std::unique_ptr<DeviceTarget>>
  findTarget(const TargetRequest &request) const = 0;

protected:
  /// The error for an unknown architecture.
  llvm::Error unknownTarget(llvm::StringRef architecture) const;

private:
  const kernels::DeviceRow &row;
};

// Defined by the folders of the devices.
#define MPC_DEVICE(name, Folder, ...)                                          \
  std::unique_ptr<Backend> create##Folder##Backend(                            \
      const kernels::DeviceRow &row);
#include "kernels/devices.def"

/// All backends, in the order of their rows.
llvm::ArrayRef<std::unique_ptr<Backend>> backends();
/// The backend with this name; null if there is none.
const Backend *findBackend(llvm::StringRef name);
/// The first backend.
const Backend *defaultBackend();

/// The machine whose speed decides about FP8, whatever the model is compiled
/// for: an H100.
Machine machineOfFp8();

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
