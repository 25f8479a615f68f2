//===- CompareText.h - What mpc compare says --------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_COMPARE_COMPARETEXT_H
#define MPC_TOOLS_MPC_COMPARE_COMPARETEXT_H

#include "tools/mpc/compare/Comparison.h"

#include "llvm/Support/Regex.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// What counts as holding, as shares.
struct CompareTolerances {
  double loss = 0.01;   ///< For each step of two independent runs.
  double tensor = 0.25; ///< For each value of a step from the same states.
};

/// `--tensors`: which ops are shown.
class TensorChoice {
public:
  /// "" leaves it open. Throws a Failure if `pattern` is no regular expression
  /// or matches nothing.
  TensorChoice(const std::string &pattern, const Comparison &comparison);

  bool isOpen() const { return !regex; }
  bool includes(const report::Op &op) const {
    return regex->match(op.node) || regex->match(op.type);
  }

private:
  std::optional<llvm::Regex> regex;
};

/// A comparison that has run, in words, as JSON, and as a page.
class CompareResult {
public:
  CompareResult(const Comparison &comparison, const std::string &precision,
                const std::string &against,
                const CompareTolerances &tolerances);

  bool holds() const {
    return !parting && isDone && lossError <= tolerances.loss;
  }
  std::string verdict() const;

  /// Losses, sizes of errors, and ops: those that are chosen, or the worst.
  void print(const TensorChoice &chosen) const;

  nlohmann::ordered_json json(const std::string &model) const;

  /// One page that loads nothing.
  std::string page(const std::string &model) const;

private:
  /// An error of an op, and when that was; steps count from 1.
  struct Worst {
    size_t op;
    double error = 0, ofInputs = 0;
    uint64_t step = 1;
  };

  std::string nameOf(size_t op) const;
  size_t placeOf(size_t op) const;
  std::string lossText() const;
  void printParameters() const;
  void printTensors() const;
  void printOps(const std::vector<Worst> &ops) const;
  std::vector<Worst> choose(const TensorChoice &chosen) const;
  void findWorst();
  void findLossError();

  const Comparison &comparison;
  const std::string precision, against;
  const CompareTolerances tolerances;
  std::vector<Worst> worst; ///< The largest of each op that is shown, in the
                            ///< order of the program.
  std::optional<Worst> parting;
  bool isDone = true; ///< The candidate made every step.
  double lossError = 0;
  uint64_t lossStep = 1;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPARE_COMPARETEXT_H
