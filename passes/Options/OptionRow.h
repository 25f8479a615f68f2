//===- OptionRow.h - Properties of one option -------------------*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_OPTIONROW_H
#define MPC_PASSES_OPTIONS_OPTIONROW_H

#include "passes/Options/OptionChecks.h"
#include "passes/Options/Options.h"

#include <string>
#include <utility>
#include <vector>

namespace mpc {

/// How a package records an option: resume and export have no other source for
/// it.
struct Remembered {
  enum class When { Never, IfSet, Always, AsText } when;
  /// For AsText; "" is not remembered.
  std::string (*text)(const CompileOptions &options) = nullptr;
};

/// What a resume does if the package was compiled with another value.
enum class Resume { Silent, Note, NeedsForce, AddsState };

/// Whether an ONNX training graph can express other values than the default.
enum class Export { Allowed, Refused };

/// One row of Options.def.
struct OptionRow {
  OptionId id;
  const char *group; ///< "Loss".
  const char *name;  ///< "label-smoothing".
  const char *metavar;
  const char *type; ///< "double".
  OptionCheck check;
  Remembered package;
  Resume resume;
  Export exported;
  std::string help;
  std::string section, rareSection; ///< Headings in help.
  std::string byDefault = {};       ///< As writeWhole writes it.
  bool isRare = false;
  bool isFlag = true; ///< False: for the library and passes only.
  /// Other options and the values they must have for this option to have an
  /// effect.
  std::vector<std::pair<std::string, std::vector<std::string>>> needed = {};

  // The PROPERTIES of Options.def.
  OptionRow &rare() { return isRare = true, *this; }
  OptionRow &libraryOnly() { return isFlag = false, *this; }
  OptionRow &needs(const char *other, const char *value) {
    return needs(other, std::vector<std::string>{value});
  }
  OptionRow &needs(const char *other, std::vector<std::string> values) {
    needed.emplace_back(other, std::move(values));
    return *this;
  }

  bool isSwitch() const { return *metavar == 0; }
};

/// All rows, in their order.
const std::vector<OptionRow> &optionRows();

/// The row of an option.
const OptionRow &optionRow(OptionId id);

/// The row of the option with this name; null if there is none.
const OptionRow *findOption(const std::string &name);

/// "option 'label-smoothing'": how messages of the library name an option. A
/// tool replaces this by the form that its users write.
std::string optionName(OptionId id);

/// Checks every value that is not the default, and the options in combination.
/// Returns an error message, or "".
std::string checkOptions(const CompileOptions &options);

/// Checks for options in `given` that have no effect in combination with the
/// others. Returns an error message, or "".
std::string checkGiven(const CompileOptions &options);

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_OPTIONROW_H
