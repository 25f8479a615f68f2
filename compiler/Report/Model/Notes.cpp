//===- Notes.cpp - Notes of a report about nodes --------------------------===//

#include "compiler/Report/Model/Notes.h"

#include "compiler/Report/Text/Text.h"

#include "llvm/ADT/StringExtras.h"

using namespace mpc::report;
using llvm::StringRef;

/// Appends `text` unless the note already contains it.
static void note(Notes &notes, const std::string &key, StringRef text) {
  if (text.empty())
    return;
  std::string &value = notes[key];
  llvm::SmallVector<StringRef> parts;
  StringRef(value).split(parts, "; ");
  if (llvm::is_contained(parts, text))
    return;
  value += (value.empty() ? "" : "; ") + text.str();
}

/// Replaces "; " in a reason, since it separates the parts of a note.
static std::string reasonOf(const Op &op) {
  std::string reason = op.reason;
  for (size_t at; (at = reason.find("; ")) != std::string::npos;)
    reason.replace(at, 2, ", ");
  return reason;
}

std::map<std::string, Notes> mpc::report::notesOfNodes(const Report &report) {
  std::map<std::string, Notes> nodes;
  const Function *function = report.principal();
  if (!function)
    return nodes;
  for (const Op &op : function->ops) {
    if (op.phase == Phase::Update)
      continue;
    Notes &notes = nodes[op.forwardNode().str()];
    std::string prefix = op.phase == Phase::Backward ? "mpc.backward." : "mpc.";
    note(notes, prefix + "class", op.precisionClass);
    note(notes, prefix + "format", op.format());
    note(notes, prefix + "rule", op.ruleId);
    note(notes, prefix + "reason", reasonOf(op));
    if (op.castsIn + op.castsOut > 0)
      note(notes, prefix + "casts",
           std::to_string(op.castsIn) + " in, " + std::to_string(op.castsOut) +
               " out");
  }
  return nodes;
}

Notes mpc::report::notesOfModel(const Report &report) {
  Notes notes = {{"mpc.precision", report.precision}};
  if (const Function *function = report.principal()) {
    const Cost &cost = function->totals;
    notes["mpc." + function->name] =
        share(cost.lowFlops, cost.flops) + " of " + shorten(cost.flops) +
        "FLOP and " + share(cost.lowBytes, cost.bytes) + " of " +
        inBytes(cost.bytes) + " in " + report.lowName().str() + ", " +
        count(cost.casts, "cast");
  }
  return notes;
}
