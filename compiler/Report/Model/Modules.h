//===- Modules.h - Modules of a network -------------------------*- C++ -*-===//
//
// ONNX has no modules, but exporters leave their paths in the names of nodes:
// "/transformer/h.0/attn/c_attn/MatMul", "blocks.0.attn.q". Paths are written
// with dots, whatever separator the file has: "transformer.h.0.attn.c_attn".
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_MODEL_MODULES_H
#define MPC_COMPILER_REPORT_MODEL_MODULES_H

#include "compiler/Report/Model/Data.h"

namespace mpc::report {

/// The module of a node, or of its gradient, by its name; "" if it has none.
std::string modulePath(llvm::StringRef node);

/// Returns true if a module lies in the module that the user calls `wanted`:
/// "h.0", "h/0/attn" and "transformer.h.0" all contain "transformer.h.0.attn".
bool liesIn(llvm::StringRef module, llvm::StringRef wanted);

struct Module {
  std::string label;  ///< "attn", or "h.0 ... h.11" for a fold.
  std::string path;   ///< Path of the module; for a fold, that of the first.
  uint64_t times = 1; ///< The number of modules that are folded into this one.
  Cost cost;          ///< Cost of all ops in it, in all folded modules.
  std::vector<Module> children;
  /// Equal for modules with the same ops in the same formats for the same
  /// reasons.
  uint64_t signature = 0;
};

/// The modules of a function in the order in which they are entered.
/// Consecutive equal blocks are folded; a module that contains only one other
/// module is merged with it. The loss and the optimizer come last.
std::vector<Module> findModules(const Function &function);

/// Lists as much of a forest as fits in `rows`: as deep as possible; if there
/// are too many modules at the top, only the largest.
struct ModuleRow {
  size_t depth = 0;
  std::string label, path;
  uint64_t times = 1;
  Cost cost;
};
std::vector<ModuleRow> listModules(const std::vector<Module> &modules,
                                   size_t rows);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_MODULES_H
