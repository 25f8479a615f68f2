//===- Package.h - Writer of packages ---------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_PACKAGE_H
#define MPC_COMPILER_TARGET_PACKAGE_H

#include "compiler/Support/Report.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <utility>
#include <vector>

namespace mpc {

/// Forms of code. A device may define others.
inline constexpr llvm::StringLiteral kObjectForm = "object", kPtxForm = "ptx",
                                     kCubinForm = "cubin";

/// Code of the kernels for one target.
struct CodeSegment {
  std::string form;
  std::string target; ///< "cpu", "sm_80".
  std::string bytes;
};

/// The program as compiled for one kind of device.
struct PackageVariant {
  std::string device;    ///< "cpu", "cuda".
  mlir::ModuleOp module; ///< Planned: `exec.entry` and `train.state`.
  std::string cpu;       ///< LLVM's name for the CPU.
  std::vector<std::string> features; ///< CPU features that the code needs.
  std::vector<CodeSegment> code;
  std::vector<ArchitectureReport>
      assembled; ///< Reports for GPUs; not in the file.
};

/// The other contents of a package.
struct PackageContents {
  std::string model; ///< Name of the ONNX file.
  /// Precision reports as JSON: one for "", which stands for all devices, or
  /// one per device.
  std::vector<std::pair<std::string, std::string>> reports;
  std::vector<std::pair<std::string, std::string>> options;
  int64_t accumulate = 1;
};

/// Writes a program as a package (runtime/src/program/program.fbs) to `out` and
/// returns its size in bytes. Initial values are not copied. All variants must
/// have the same states at the same offsets; fails with a diagnostic if they do
/// not. Errors of `out` are the caller's.
mlir::FailureOr<uint64_t> writePackage(llvm::ArrayRef<PackageVariant> variants,
                                       const PackageContents &contents,
                                       llvm::raw_ostream &out);

/// The same as a string.
mlir::FailureOr<std::string>
buildPackage(llvm::ArrayRef<PackageVariant> variants,
             const PackageContents &contents);

} // namespace mpc

#endif // MPC_COMPILER_TARGET_PACKAGE_H
