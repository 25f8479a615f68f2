//===- Render.h - Reports as text -------------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_TEXT_RENDER_H
#define MPC_COMPILER_REPORT_TEXT_RENDER_H

#include "compiler/Report/Model/Data.h"

#include "llvm/Support/raw_ostream.h"

namespace mpc::report {

/// Selects ops of a report; an empty field selects everything.
struct Selection {
  enum Kind { All, Wide, Low, Casts };
  std::string function; ///< Its name.
  std::string module;   ///< As in liesIn.
  Kind kind = All;
  bool canChooseDevice = true; ///< Reports of other devices are available.

  bool contains(const Op &op) const;
};

/// The selected functions; the error for an unknown name lists the existing
/// ones.
llvm::Expected<std::vector<const Function *>>
selectFunctions(const Report &report, const Selection &selection);

/// Prints one screen: shares by format, ops that stay f32 and why, memory,
/// launches and modules, for the function in `selection`, else for the one that
/// trains.
llvm::Error printSummary(llvm::raw_ostream &os, const Report &report,
                         const Selection &selection, size_t width);

/// Prints a table with a line for each selected op of the function in
/// `selection`. Without one, prints all functions with totals and devices if
/// all ops are selected, else the function that trains.
llvm::Error printTables(llvm::raw_ostream &os, const Report &report,
                        const Selection &selection, size_t width);

/// Prints the ops of one module, for the function in `selection`, else for the
/// one that trains. If there is no such module, the error names the nearest.
llvm::Error printModule(llvm::raw_ostream &os, const Report &report,
                        const Selection &selection, size_t width);

/// Explains each op of a node and of its gradient: its operands, the decisions
/// about its format, back to the op where f32 begins, and the cost of a change.
/// If there is no such node, the error names the nearest.
llvm::Error printExplanation(llvm::raw_ostream &os, const Report &report,
                             llvm::StringRef node, const Selection &selection,
                             size_t width);

/// Prints the groups of parameters with a learning rate or decay of their own,
/// with at most `most` names per group.
void printGroups(llvm::raw_ostream &os, const Report &report, size_t most,
                 size_t width);

/// Prints what a step transposes on each device, and the assembler's reports.
void printDevices(llvm::raw_ostream &os, const Report &report, size_t width);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_TEXT_RENDER_H
