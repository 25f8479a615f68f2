//===- CompareText.h - Output of mpc compare --------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_COMPARE_COMPARETEXT_H
#define MPC_TOOLS_MPC_COMPARE_COMPARETEXT_H

#include "tools/mpc/compare/Comparison.h"

#include "llvm/Support/Regex.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// Maximum relative errors for the comparison to pass.
struct CompareTolerances {
  double loss = 0.01;   ///< For each step of two independent runs.
  double tensor = 0.25; ///< For each value of a step from equal states.
};

/// `--tensors`: selects the ops that are shown.
class TensorChoice {
public:
  /// "" selects nothing in particular. Throws a Failure if `pattern` is not a
  /// regular expression or matches nothing.
  TensorChoice(const std::string &pattern, const Comparison &comparison);

  bool isOpen() const { return !regex; }
  bool includes(const report::Op &op) const {
    return regex->match(op.node) || regex->match(op.type);
  }

private:
  std::optional<llvm::Regex> regex;
};

/// The result of a comparison, as text, JSON and an HTML page.
class CompareResult {
public:
  CompareResult(const Comparison &comparison, const std::string &precision,
                const std::string &against,
                const CompareTolerances &tolerances);

  bool holds() const {
    return !firstDivergence && isDone && lossError <= tolerances.loss;
  }
  std::string verdict() const;

  /// Prints losses, errors, and the selected ops, or the worst ones if none are
  /// selected.
  void print(const TensorChoice &chosen) const;

  nlohmann::ordered_json json(const std::string &model) const;

  /// A self-contained HTML page.
  std::string page(const std::string &model) const;

private:
  /// An error of an op and the step where it occurred, counted from 1.
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
  std::vector<Worst> worst; ///< The largest error of each op that both programs
                            ///< show, in program order.
  std::optional<Worst> firstDivergence;
  bool isDone = true; ///< The candidate completed every step.
  double lossError = 0;
  uint64_t lossStep = 1;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPARE_COMPARETEXT_H
