//===- LossText.h - Losses and their options as text ------------*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_LOSS_LOSSTEXT_H
#define MPC_PASSES_OPTIONS_LOSS_LOSSTEXT_H

#include "passes/Options/OptionChecks.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// What a loss compares an output with.
enum class LossTarget { Labels, Targets, Nothing };

/// A loss that can be computed from outputs of the model.
struct LossRow {
  const char *name;
  LossTarget target;
  size_t outputs;
  /// Names of the options that only some losses take.
  std::vector<std::string> takes;
};

/// The rows of Losses.def, in their order.
const std::vector<LossRow> &lossRows();

/// The names of all losses.
std::vector<std::string> lossNames();

/// One term of the option `loss`: KIND, KIND:NAME or output:NAME, times a
/// number. Losses of several outputs have their names separated by commas.
struct LossTermText {
  std::string kind;   ///< A name of Losses.def, "output", or a misspelled word.
  std::string output; ///< Empty if the text names no output.
  double share = 1;
  bool hasShare = false;
};

/// Splits "cross-entropy:a*0.3 + mse:b" into its terms. Names of outputs may
/// contain '*' and '+' unless a number or a loss follows. Replaces
/// "cross-entropy" by "softmax-cross-entropy".
std::vector<LossTermText> splitLoss(const std::string &text);

/// The numbers of "1,2.5,3"; none if the text is not such a list.
std::optional<std::vector<double>> parseNumbers(const std::string &text);

namespace check {

/// A sum of losses, see splitLoss; or kExternalLoss.
OptionCheck lossKind();

/// Numbers of at least 0, separated by commas, or `word` if it is not empty.
OptionCheck weights(std::string word = "");

} // namespace check

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_LOSS_LOSSTEXT_H
