//===- OptionRow.h - What is known of one option ----------------*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_OPTIONROW_H
#define MPC_PASSES_OPTIONS_OPTIONROW_H

#include "passes/Options/OptionChecks.h"
#include "passes/Options/Options.h"

#include <string>
#include <utility>
#include <vector>

namespace mpc {

/// How a package remembers an option: resume and export know it only by that.
struct Remembered {
  enum class When { Never, IfSet, Always, AsText } when;
  /// For AsText; "" is not remembered.
  std::string (*text)(const CompileOptions &options) = nullptr;
};

/// What a resume does if the package was compiled with another value.
enum class Resume { Silent, Note, Grave, AddsState };

/// Whether an ONNX training graph can express other values than the default.
enum class Export { Plain, Refused };

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
  std::string byDefault = {};       ///< As writeWhole has it.
  bool isRare = false;
  bool isFlag = true; ///< Else it is for the library and for passes.
  /// Other options that must have these values; else this one has no effect.
  std::vector<std::pair<std::string, std::string>> needed = {};

  // Properties, for Options.def.
  OptionRow &rare() { return isRare = true, *this; }
  OptionRow &libraryOnly() { return isFlag = false, *this; }
  OptionRow &needs(const char *other, const char *value) {
    needed.emplace_back(other, value);
    return *this;
  }

  bool isSwitch() const { return *metavar == 0; }
};

/// All rows, in their order.
const std::vector<OptionRow> &optionRows();

/// The row of an option.
const OptionRow &optionRow(OptionId id);

/// The same by name; null if there is none.
const OptionRow *findOption(const std::string &name);

/// "option 'label-smoothing'": how messages of the library name an option. A
/// tool prints it as its users write it.
std::string optionName(OptionId id);

/// Every value that is not the default against the check of its row, and what
/// options say together. Returns what is wrong, or "".
std::string checkOptions(const CompileOptions &options);

/// Options of `given` that have no effect beside the others. Returns what is
/// wrong, or "".
std::string checkGiven(const CompileOptions &options);

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_OPTIONROW_H
