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

/// A training program that shows what each op of a step computes: one that is
/// compiled, or the same model in f64, interpreted op by op. Methods throw a
/// Failure.
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
    /// Copies of masters follow them, and constants that were rounded do not
    /// change.
    bool isRounded() const {
      return dtype == MPC_DTYPE_BF16 || dtype == MPC_DTYPE_F16;
    }
  };

  virtual ~ComparedProgram() = default;

  /// By the names that checkpoints use.
  std::map<std::string, State> states;
  /// What the entry point `probe` gives, by name, and how many numbers.
  std::vector<std::pair<std::string, size_t>> probes;
  /// The numbers of each probe, from the last call of show().
  std::vector<std::vector<double>> values;

  virtual std::vector<Element> read(const std::string &state) const = 0;
  virtual void write(const std::string &state,
                     const std::vector<Element> &elements) = 0;

  /// Runs one step that changes nothing, and fills `values`.
  virtual void show(const std::vector<mpc_tensor_t> &inputs) = 0;
  /// Updates the weights once. Returns false if that cannot be done, as loss,
  /// gradients or weights are not finite.
  virtual bool update(Dataset &data, const Batches &batches, double &loss,
                      double &gradNorm) = 0;
  /// Says how many updates a schedule is made for, where the program does not.
  virtual void setTotalSteps(uint64_t steps) = 0;

  /// Takes the states of `other` that both have in formats that hold the same
  /// numbers; with `than` only those that `than` lacks.
  void take(const ComparedProgram &other,
            const ComparedProgram *than = nullptr);

  /// The numbers of a float state.
  std::vector<double> numbers(const std::string &state) const;
};

/// A package in a session of its own.
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

/// A model in f64, interpreted. `report` receives what is in its step. Its
/// float states are rounded to f32 after each update, so that a compiled
/// program can start from the very same.
std::unique_ptr<ComparedProgram> makeReference(CompileOptions options,
                                               std::string &report);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPARE_COMPAREDPROGRAM_H
