//===- Modules.h - The modules that a network is written in -----*- C++ -*-===//
//
// ONNX has no modules, but exporters leave their paths in the names of nodes:
// "/transformer/h.0/attn/c_attn/MatMul", "blocks.0.attn.q". A path is written
// with dots whatever it came with: "transformer.h.0.attn.c_attn".
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_MODEL_MODULES_H
#define MPC_COMPILER_REPORT_MODEL_MODULES_H

#include "compiler/Report/Model/Data.h"

namespace mpc::report {

/// The module of a node, or of its gradient, by its name; "" if it has none.
std::string modulePath(llvm::StringRef node);

/// Whether a module lies in what the user calls `wanted`: "h.0", "h/0/attn" and
/// "transformer.h.0" all hold "transformer.h.0.attn".
bool liesIn(llvm::StringRef module, llvm::StringRef wanted);

struct Module {
  std::string label;  ///< "attn"; of a fold "h.0 ... h.11".
  std::string path;   ///< Path of the module; for a fold, that of the first.
  uint64_t times = 1; ///< How many modules are folded into this one.
  Cost cost;          ///< Cost of all ops in it, in all folded modules.
  std::vector<Module> children;
  /// Equal for modules that hold the same ops in the same formats for the same
  /// reasons.
  uint64_t signature = 0;
};

/// The modules of a function in the order in which they are entered. Equal
/// blocks that follow each other are folded; modules that hold nothing but
/// another one are joined with it. What the loss and the optimizer add stands
/// at the end.
std::vector<Module> findModules(const Function &function);

/// As much of a forest as fits in `rows`: as deep as possible, and of too many
/// modules at the top the largest.
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
