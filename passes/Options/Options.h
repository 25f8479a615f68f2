//===- Options.h - Options of a compilation ---------------------*- C++ -*-===//
//
// The structs that Options.def generates: one for each group, which a pass
// takes as a whole, and one with all of them. Depends on neither MLIR nor LLVM.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_OPTIONS_OPTIONS_H
#define MPC_PASSES_OPTIONS_OPTIONS_H

#include "compiler/Import/Limits.h"
#include "passes/Weights/OpenWeights.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace mpc {

using Texts = std::vector<std::string>;
using NumberByName = std::map<std::string, int64_t>;
using OptionalNumber = std::optional<int64_t>;
using Numbers = std::vector<int64_t>;

/// The value of option 'loss' with which the caller computes the loss, and that
/// of option 'optimizer' with which it updates the weights.
inline constexpr char kExternalLoss[] = "external";
inline constexpr char kNoOptimizer[] = "none";

/// Marks a hyper-parameter that takes the default of its optimizer.
inline constexpr double kUnset = -1;

// struct LossOptions { std::string loss = ""; ... }; and so on.
#define MPC_GROUP(NAME, ...) struct NAME##Options {
#define MPC_OPTION(FIELD, TYPE, DEFAULT, ...) TYPE FIELD = DEFAULT;
#define MPC_GROUP_END(NAME)                                                    \
  }                                                                            \
  ;
#include "passes/Options/Options.def"

/// Inputs and outputs of a compilation. They are not rows of Options.def: the
/// command line handles them separately.
struct CompileFiles {
  std::string model;       ///< ONNX file, binary or text (.onnxtxt).
  std::string output;      ///< Package to write; empty: none is written.
  std::string modelPath;   ///< Path to record in the package; may be "".
  std::string dumpStages;  ///< Folder for the IR after each stage.
  std::string stopAfter;   ///< Stage to stop after; no package is written.
  bool probe = false;      ///< Add an entry point `probe`: see mpc-add-probe.
  bool injectable = false; ///< Allow fault injection through states, for tests.
  /// Names of options that were given explicitly, whatever their value: a model
  /// that brings its own optimizer decides the others.
  std::set<std::string> given;
  /// Opens the file of option `init`, unless it is an ONNX model.
  OpenWeights *openWeights = nullptr;
};

/// All groups together. A pass takes only its own groups. Field names are
/// unique across groups, like the names that users write.
struct CompileOptions : CompileFiles
#define MPC_GROUP(NAME, ...) , NAME##Options
#include "passes/Options/Options.def"
{
  /// Whether the program has the entry point `observe`.
  bool observes() const { return observe || observed == "numerics"; }
  /// Whether `observe` also computes the effect of rounding.
  bool profiles() const { return observed == "profile"; }
};

/// One enumerator for each row.
enum class OptionId {
#define MPC_OPTION(FIELD, ...) FIELD,
#include "passes/Options/Options.def"
};

// visitOptions(group, visit) calls visit(OptionId, field) for each row of a
// group.
#define MPC_GROUP(NAME, ...)                                                   \
  template <typename Options, typename Visitor,                                \
            std::enable_if_t<                                                  \
                std::is_same_v<std::remove_const_t<Options>, NAME##Options>,   \
                bool> = true>                                                  \
  void visitOptions(Options &options, Visitor &&visit) {
#define MPC_OPTION(FIELD, ...) visit(OptionId::FIELD, options.FIELD);
#define MPC_GROUP_END(NAME) }
#include "passes/Options/Options.def"

namespace detail {
template <typename Options, typename Group>
using ConstAs =
    std::conditional_t<std::is_const_v<Options>, const Group, Group>;
} // namespace detail

/// The same, for the rows of all groups.
template <typename Options, typename Visitor,
          std::enable_if_t<
              std::is_same_v<std::remove_const_t<Options>, CompileOptions>,
              bool> = true>
void visitOptions(Options &options, Visitor &&visit) {
#define MPC_GROUP(NAME, ...)                                                   \
  visitOptions(                                                                \
      static_cast<detail::ConstAs<Options, NAME##Options> &>(options), visit);
#include "passes/Options/Options.def"
}

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_OPTIONS_H
