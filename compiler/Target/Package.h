//===- Package.h - The compiled program as a file ---------------*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_PACKAGE_H
#define MPC_COMPILER_TARGET_PACKAGE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <utility>
#include <vector>

namespace mpc {

struct CpuTarget;

/// What goes into a package beside the planned module.
struct PackageContents {
  std::string model;  ///< Name of the ONNX file.
  std::string code;   ///< ELF shared object of the kernels.
  std::string report; ///< Precision report, JSON.
  std::vector<std::pair<std::string, std::string>> options;
  int64_t accumulate = 1;
};

/// Serializes a module of `exec.entry` and `train.state` as a package
/// (runtime/src/program/program.fbs).
std::string buildPackage(mlir::ModuleOp module, const CpuTarget &target,
                         const PackageContents &contents);

} // namespace mpc

#endif // MPC_COMPILER_TARGET_PACKAGE_H
