//===- harness.h - Compile and run small models -----------------*- C++ -*-===//
//
// Compiles a small model and runs it through the runtime's C API. All values
// are doubles, whatever the precision.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_GRADIENTS_HARNESS_H
#define MPC_TEST_GRADIENTS_HARNESS_H

#include "mpc/runtime.h"
#include "passes/Driver/Pipeline.h"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mpc::test {

using Values = std::vector<double>;
using Shape = std::vector<int64_t>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// One linear layer: inputs of shape [4, 3], weights `w` and `b` of zeros.
inline const char *const kLinear = R"(<ir_version: 9, opset_import: ["" : 20]>
linear (float[4, 3] x, float[3, 2] w = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
        float[2] b = {0.0, 0.0}) => (float[4, 2] y)
{
  y = Gemm (x, w, b)
})";

/// A tensor of a model, with its values or the range of its random values.
struct TensorSpec {
  std::string name;
  std::string type; ///< float, int64, ...
  Shape shape;
  double low = -1, high = 1;
  Values kinks;  ///< No random value is within 0.01 of one.
  Values values; ///< Empty: random.

  int64_t count() const;
  /// The values; floats are exact in f32, so that every precision starts from
  /// the same point.
  Values fill(uint64_t seed) const;
};

/// Parses "a[2,3] b[3]:0.5..2 c[] d[4]:-2..2~0~1", where 0 and 1 are kinks.
std::vector<TensorSpec> parseTensors(const std::string &text);

/// Numbers in [0, 1) that depend only on the seed.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  double next();

private:
  uint64_t state;
};

/// A temporary folder that the destructor removes.
class Folder {
public:
  Folder();
  ~Folder();
  std::string path(const std::string &name) const { return root + "/" + name; }

private:
  std::string root;
};

/// Writes `text` to a file in `folder`; returns its path.
std::string writeText(const Folder &folder, const std::string &name,
                      const std::string &text);

/// A compiled program. If compilation fails, the test fails and the pointer is
/// null.
using ProgramPtr = std::shared_ptr<mpc_program_t>;
ProgramPtr compile(CompileOptions options, const Folder &folder);

struct SessionOptions {
  uint32_t threads = 1;
  bool deterministic = false;
  uint64_t seed = 0;
};

/// A session whose tensors are doubles.
class Session {
public:
  explicit Session(ProgramPtr program, const SessionOptions &options = {});

  /// Runs one training step. Values are in the order of the program's inputs.
  mpc_step_info_t step(const std::vector<Values> &inputs);

  /// The outcome of a step that may fail.
  struct Outcome {
    mpc_code_t code;
    std::string message;
    mpc_step_info_t info;
  };
  Outcome tryStep(const std::vector<Values> &inputs);

  /// Runs an entry point; returns the outputs by name.
  std::map<std::string, Values> run(const std::string &entry,
                                    const std::vector<Values> &inputs);

  Values read(const std::string &state) const;
  void write(const std::string &state, const Values &values);
  bool has(const std::string &state) const;

  /// All states, control states included, bit by bit.
  std::map<std::string, std::string> snapshot() const;

  /// Names of the states that are trained by gradients.
  std::vector<std::string> parameters() const;

  mpc_session_t *handle() const { return session.get(); }
  const mpc_program_t *code() const { return program.get(); }

private:
  const mpc_state_info_t &info(const std::string &state) const;

  ProgramPtr program;
  std::shared_ptr<mpc_session_t> session;
  std::vector<mpc_state_info_t> states;
};

/// Fails the test unless `status` is OK; returns whether it is. Takes
/// ownership.
bool isOk(mpc_status_t status);

double largest(const Values &values);
/// The largest |a - b| over the largest |b|; 0 if both are zero.
double scaledError(const Values &a, const Values &b);
/// The norm of a - b over that of b.
double normError(const Values &a, const Values &b);

} // namespace mpc::test

#endif // MPC_TEST_GRADIENTS_HARNESS_H
