//===- PackageText.h - What a package remembers of its options --*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_PACKAGETEXT_H
#define MPC_PASSES_OPTIONS_PACKAGETEXT_H

#include "passes/Options/OptionRow.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mpc {

/// Names and values in the order of the package. `facts` are what is known of
/// the program beside its options, by name; they count more. A model that
/// brings its own training step (`hasImportedStep`) has no options of an
/// update.
std::vector<std::pair<std::string, std::string>>
describeOptions(const CompileOptions &options,
                std::map<std::string, std::string> facts, bool hasImportedStep);

/// What a package says of an option with these options, or "".
std::string packageText(const OptionRow &row, const CompileOptions &options);

// Texts that say more than the value of one row.
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
