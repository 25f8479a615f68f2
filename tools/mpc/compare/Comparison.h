//===- Comparison.h - Two programs of one model, step by step ---*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_COMPARE_COMPARISON_H
#define MPC_TOOLS_MPC_COMPARE_COMPARISON_H

#include "compiler/Report/Compare/Divergence.h"
#include "tools/mpc/compare/ComparedProgram.h"
#include "tools/mpc/compare/Variants.h"
#include "tools/mpc/training/Signals.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mpc::tool {

/// Trains a model in two ways at once, a candidate and the reference, from the
/// same states on the same batches. Each goes its own way; beside that, before
/// every step the candidate's program is given the states of the reference, and
/// both show what they compute of one step.
class Comparison {
public:
  struct Settings {
    std::string data;
    uint64_t steps = 20, seed = 0;
    SessionSettings session;
  };

  /// Compiles both.
  Comparison(const CompileOptions &candidate, const CompileOptions &reference,
             const Settings &settings);
  ~Comparison();

  /// `progress` is told how many steps are done. Ends early after a step that
  /// the candidate cannot make; throws a Failure if the reference cannot.
  void run(const std::function<void(uint64_t)> &progress);

  /// How one step went; nan where it could not be made.
  struct Step {
    double loss, gradNorm;
    double trueLoss, trueGradNorm; ///< Values of the reference.
    std::vector<double>
        errors; ///< Error of each of `ops`, from the same states.
  };

  /// How far apart a parameter is in the end, as a share of the way that it
  /// went in the reference.
  struct Drift {
    std::string name;
    double error;
  };

  const report::Op &op(size_t number) const {
    return candidateStep->ops[ops[number].right];
  }

  /// Whether both show what it gives; updates do not.
  bool isShown(size_t number) const { return shown[number]; }

  report::Report candidateReport, referenceReport;
  std::vector<report::SharedOp> ops; ///< Left is the reference.
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
  /// The candidate on its way, the reference, and the candidate on the way of
  /// the reference.
  std::unique_ptr<CompiledProgram> candidate, locked;
  std::unique_ptr<ComparedProgram> reference;
  /// A value that both show: what it is of, and among the outputs of each.
  struct Probe {
    size_t op, result, left, right;
  };
  std::vector<Probe> probes;
  std::vector<bool> shown; ///< Whether each of `ops` is shown.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPARE_COMPARISON_H
