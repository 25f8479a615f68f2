//===- Notes.h - Notes of a report about nodes ------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_MODEL_NOTES_H
#define MPC_COMPILER_REPORT_MODEL_NOTES_H

#include "compiler/Report/Model/Data.h"

#include <map>
#include <string>

namespace mpc::report {

using Notes = std::map<std::string, std::string>;

/// Notes by node of the function that trains, else of the first: "mpc.class",
/// "mpc.format", "mpc.rule" (an id), "mpc.reason", "mpc.casts"; of the gradient
/// "mpc.backward.format" and so on. If a node became several ops, their
/// different values are joined with "; ".
std::map<std::string, Notes> notesOfNodes(const Report &report);

/// Notes for the whole model: "mpc.precision", and "mpc.step" with totals.
Notes notesOfModel(const Report &report);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_NOTES_H
