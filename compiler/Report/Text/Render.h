//===- Render.h - A report as people read it --------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_TEXT_RENDER_H
#define MPC_COMPILER_REPORT_TEXT_RENDER_H

#include "compiler/Report/Model/Data.h"

#include "llvm/Support/raw_ostream.h"

namespace mpc::report {

/// Which ops of a report are meant; what is empty leaves out nothing.
struct Selection {
  enum Kind { All, Wide, Low, Casts };
  std::string function; ///< Its name.
  std::string module;   ///< As liesIn takes it.
  Kind kind = All;
  bool canChooseDevice = true; ///< Reports of other devices are at hand.

  bool contains(const Op &op) const;
};

/// The functions that are meant; an error names those there are.
llvm::Expected<std::vector<const Function *>>
selectFunctions(const Report &report, const Selection &selection);

/// A screenful: shares by format, what stays f32 and why, memory, launches and
/// modules; of the function in `selection`, else of the one that trains.
llvm::Error printSummary(llvm::raw_ostream &os, const Report &report,
                         const Selection &selection, size_t width);

/// A table with a line for each op that is meant, of the function in
/// `selection`; else of each, with totals and devices, if all ops are meant, or
/// of the one that trains.
llvm::Error printTables(llvm::raw_ostream &os, const Report &report,
                        const Selection &selection, size_t width);

/// The ops of one module, of the function in `selection`, else of the one that
/// trains. If there is no such module, the
/// error names the nearest.
llvm::Error printModule(llvm::raw_ostream &os, const Report &report,
                        const Selection &selection, size_t width);

/// Explains each op of a node and of its gradient: what it reads, what decided
/// its format, back to where f32 begins, and what a change would cost. If there
/// is no such node, the error names the nearest.
llvm::Error printExplanation(llvm::raw_ostream &os, const Report &report,
                             llvm::StringRef node, const Selection &selection,
                             size_t width);

/// Parameters that are updated otherwise than others, of each group at most
/// `most` by name.
void printGroups(llvm::raw_ostream &os, const Report &report, size_t most,
                 size_t width);

/// What a step transposes on each device, and what the assembler said.
void printDevices(llvm::raw_ostream &os, const Report &report, size_t width);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_TEXT_RENDER_H
