//===- PackageText.h - Options as recorded in a package ---------*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_PACKAGETEXT_H
#define MPC_PASSES_OPTIONS_PACKAGETEXT_H

#include "passes/Options/OptionRow.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mpc {

/// Names and values in the order of the package. `facts` are properties of the
/// program, by name; they take precedence over options. A model that brings its
/// own training step (`hasImportedStep`) has no options of an update.
std::vector<std::pair<std::string, std::string>>
describeOptions(const CompileOptions &options,
                std::map<std::string, std::string> facts, bool hasImportedStep);

/// The text that a package records for one option, or "".
std::string packageText(const OptionRow &row, const CompileOptions &options);

// Texts that combine the value of a row with other information.
std::string averageText(const CompileOptions &options);
std::string batchNormText(const CompileOptions &options);
std::string fp8Text(const CompileOptions &options);
std::string groupsText(const CompileOptions &options);
std::string lossScaleMinText(const CompileOptions &options);
std::string lossScaleText(const CompileOptions &options);
std::string noDecayText(const CompileOptions &options);
std::string scheduleText(const CompileOptions &options);

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_PACKAGETEXT_H
