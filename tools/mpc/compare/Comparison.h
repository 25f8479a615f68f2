//===- Comparison.h - Compare two programs step by step ---------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_COMPARE_COMPARISON_H
#define MPC_TOOLS_MPC_COMPARE_COMPARISON_H

#include "compiler/Report/Compare/Divergence.h"
#include "tools/mpc/compare/ComparedProgram.h"
#include "tools/mpc/compare/Variants.h"
#include "tools/mpc/training/console/Signals.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mpc::tool {

/// Trains a model in two ways at the same time, as candidate and as reference,
/// from the same states on the same batches. The two runs are independent. In
/// addition, for every step, a second session of the candidate's program gets
/// the states of the reference, and both show what they compute in that step.
class Comparison {
public:
  struct Settings {
    DataOptions data;
    uint64_t steps = 20, seed = 0;
    SessionSettings session;
  };

  /// Compiles both programs.
  Comparison(const CompileOptions &candidate, const CompileOptions &reference,
             const Settings &settings);
  ~Comparison();

  /// Calls `progress` with the number of completed steps. Ends early after a
  /// step that the candidate cannot complete; throws a Failure if the reference
  /// cannot.
  void run(const std::function<void(uint64_t)> &progress);

  /// The results of one step; nan if it could not be completed.
  struct Step {
    double loss, gradNorm;
    double trueLoss, trueGradNorm; ///< Values of the reference.
    std::vector<double>
        errors; ///< Error of each of `ops`, from the same states.
  };

  /// The difference of a parameter between candidate and reference at the end,
  /// relative to its change in the reference.
  struct Drift {
    std::string name;
    double error;
  };

  const report::Op &op(size_t number) const {
    return candidateStep->ops[ops[number].right];
  }

  /// Whether both programs show the op's results; ops of the update have none.
  bool isShown(size_t number) const { return shown[number]; }

  report::Report candidateReport, referenceReport;
  std::vector<report::SharedOp> ops; ///< `left` is the reference.
  std::vector<Step> steps;
  std::vector<Drift> drifts;

private:
  void matchProbes();
  std::vector<double> probe(Dataset &data, const Batches &batches);
  void measureDrift(const std::vector<std::vector<double>> &before);

  const Settings settings;
  const std::string referencePrecision;
  ScratchFolder scratch;
  StopOnSignal signals;
  const report::Function *candidateStep = nullptr, *referenceStep = nullptr;
  /// The candidate's own run, and the candidate's program with the states of
  /// the reference.
  std::unique_ptr<CompiledProgram> candidate, candidateOnReference;
  std::unique_ptr<ComparedProgram> reference;
  /// A value that both programs show: its op and result number, and its index
  /// in the probes of each.
  struct Probe {
    size_t op, result, left, right;
  };
  std::vector<Probe> probes;
  std::vector<bool> shown; ///< Whether each of `ops` is shown.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPARE_COMPARISON_H
