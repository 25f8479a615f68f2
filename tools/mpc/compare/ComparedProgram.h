//===- ComparedProgram.h - A program that mpc compare runs ------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_COMPARE_COMPAREDPROGRAM_H
#define MPC_TOOLS_MPC_COMPARE_COMPAREDPROGRAM_H

#include "compiler/Reference/HostTensor.h"
#include "passes/Driver/Pipeline.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/compare/Variants.h"
#include "tools/mpc/data/Dataset.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mpc::tool {

/// A training program that shows what each op of a step computes: either a
/// compiled program, or the same model in f64, interpreted op by op. Methods
/// throw a Failure on errors.
class ComparedProgram {
public:
  using Element = reference::Element;

  struct State {
    mpc_dtype_t dtype;
    std::vector<int64_t> shape;
    bool isParameter;

    bool isFloat() const {
      return dtype == MPC_DTYPE_F32 || dtype == MPC_DTYPE_F64;
    }
    /// Whether the state is 16 bit. Such states are not copied: working copies
    /// follow their masters, and rounded constants do not change.
    bool isRounded() const {
      return dtype == MPC_DTYPE_BF16 || dtype == MPC_DTYPE_F16;
    }
  };

  virtual ~ComparedProgram() = default;

  /// Keyed by the names that checkpoints use.
  std::map<std::string, State> states;
  /// The outputs of the entry point `probe`: name and number of elements.
  std::vector<std::pair<std::string, size_t>> probes;
  /// The elements of each probe, from the last call of show().
  std::vector<std::vector<double>> values;

  virtual std::vector<Element> read(const std::string &state) const = 0;
  virtual void write(const std::string &state,
                     const std::vector<Element> &elements) = 0;

  /// Runs one step without changing any state, and fills `values`.
  virtual void show(const std::vector<mpc_tensor_t> &inputs) = 0;
  /// Updates the weights once. Returns false if loss, gradients or weights are
  /// not finite.
  virtual bool update(Dataset &data, const Batches &batches, double &loss,
                      double &gradNorm) = 0;
  /// Sets the length of the schedule, if the program was compiled without one.
  virtual void setTotalSteps(uint64_t steps) = 0;

  /// Copies the states of `other` that both programs have in compatible types;
  /// with `than`, only those that `than` lacks.
  void take(const ComparedProgram &other,
            const ComparedProgram *than = nullptr);

  /// The elements of a float state.
  std::vector<double> numbers(const std::string &state) const;
};

/// A compiled program, with its own session.
class CompiledProgram : public ComparedProgram {
public:
  CompiledProgram(const std::string &package, const SessionSettings &settings);

  std::vector<Element> read(const std::string &state) const override;
  void write(const std::string &state,
             const std::vector<Element> &elements) override;
  void show(const std::vector<mpc_tensor_t> &inputs) override;
  bool update(Dataset &data, const Batches &batches, double &loss,
              double &gradNorm) override;
  void setTotalSteps(uint64_t steps) override;

  Program program;

private:
  mutable Session session;
  std::vector<std::vector<float>> shown;
  std::vector<Binding> outputs;
  std::vector<mpc_tensor_t> tensors;
};

/// Makes a model that is interpreted in f64. `report` receives the report on
/// its step. Its float states are rounded to f32 after each update, so that a
/// compiled program can start from exactly the same states.
std::unique_ptr<ComparedProgram> makeReference(CompileOptions options,
                                               std::string &report);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPARE_COMPAREDPROGRAM_H
