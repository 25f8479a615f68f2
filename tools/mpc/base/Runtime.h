//===- Runtime.h - C++ wrappers of the C API of libmpcrt --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_RUNTIME_H
#define MPC_TOOLS_MPC_BASE_RUNTIME_H

#include "tools/mpc/Command.h"

#include "mpc/runtime.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// The exit code for an error of the runtime.
ExitCode exitCodeFor(mpc_code_t code);

/// An error of the runtime, whose code is finer than the exit code.
class RuntimeFailure : public Failure {
public:
  RuntimeFailure(mpc_code_t code, const std::string &message)
      : Failure(exitCodeFor(code), message), code(code) {}

  const mpc_code_t code;
};

/// Throws a RuntimeFailure if `status` is an error. `context` ("run/step-10"),
/// if not empty, is put before the message.
void check(mpc_status_t status, const std::string &context = "");

/// One input or output of an entry point.
struct Binding {
  std::string name;
  mpc_dtype_t dtype;
  std::vector<int64_t> shape;
  int32_t batchDim; ///< -1: no batch dimension.

  /// Integers: each must lie in [low, high) or equal `ignored`, which the loss
  /// leaves out. The smallest and the largest i64 mean no limit.
  struct Range {
    int64_t low, high;
    std::optional<int64_t> ignored;
    bool needsOthers = true; ///< Not all of them may be `ignored`.

    bool allows(int64_t value) const {
      return value == ignored ||
             (value >= low && (value < high || high == INT64_MAX));
    }
  };
  std::optional<Range> range = std::nullopt;
};

/// "f32[64,1,8,8]".
std::string formatType(mpc_dtype_t dtype, const std::vector<int64_t> &shape);

/// A loaded package.
class Program {
public:
  explicit Program(const std::string &path);
  /// A program of the caller, which must outlive this; `name` is for messages.
  Program(const mpc_program_t *borrowed, std::string name);

  const mpc_program_t *get() const { return program; }
  bool isBorrowed() const { return !owned; }
  bool has(const char *entry) const {
    return mpc_program_has_entry(get(), entry) != 0;
  }
  std::vector<Binding> inputs(const char *entry) const;
  std::vector<Binding> outputs(const char *entry) const;

  /// The batch sizes of an entry point, none if it has no batch dimension.
  /// inputs() and outputs() describe the first; for another one, take the name
  /// from entryFor().
  std::vector<uint64_t> batchSizes(const char *entry) const;
  std::string entryFor(const char *entry, uint64_t batch) const;

  /// The batch size for a pass over so many samples: the smallest one that
  /// takes them all at once, else the largest; 1 if there is no batch
  /// dimension.
  uint64_t batchSizeFor(const char *entry, uint64_t samples) const;

  /// Value of a compile option, "" if unknown.
  std::string option(const char *name) const;

  /// All states; a packed state is listed by its slots.
  const std::vector<mpc_state_info_t> &states() const { return allStates; }
  bool hasState(const char *name) const;
  /// The name of the state of this role; null if there is none. Borrowed.
  const char *stateOf(mpc_state_role_t role) const;

  /// Whether the training step comes from the model.
  bool hasImportedStep() const { return option("own-step") == "yes"; }

  /// An explanation for a loss that is nan, if the model computes indices or
  /// labels whose range is unknown; otherwise "".
  std::string explainIndices() const;

  /// The states that hold learning rates: one, but an imported training step
  /// may have none or several.
  std::vector<std::string> learningRates() const;

  /// The entry point that mpc_session_step runs; throws if the program cannot
  /// be trained.
  const char *stepEntry() const;

  /// The number of calls of mpc_session_step per update, as compiled.
  uint64_t microBatches() const;

  /// Whether an update may have fewer micro-batches, which packages of older
  /// versions do not support.
  bool weighsUpdates() const {
    return option("incomplete-updates") == "weighted";
  }

  /// A number that differs for programs that train differently: of another
  /// model or with other options. Code for other devices makes no difference.
  std::string fingerprint() const;

  const std::string path;

private:
  void readStates();

  std::vector<mpc_state_info_t> allStates;
  struct Destroy {
    void operator()(mpc_program_t *program) const {
      mpc_program_destroy(program);
    }
  };
  std::unique_ptr<mpc_program_t, Destroy> owned; ///< Null if it is borrowed.
  const mpc_program_t *program = nullptr;
};

/// Accepts "auto", device names and, for accelerators, numbers ("cuda:1").
class DeviceName : public CLI::Validator {
public:
  DeviceName();
};

/// The value "none", "optimizer" or "gradients" of the option `--shard`.
mpc_shard_t parseShard(const std::string &value);

/// How a session runs; the options `--device`, `--threads` and
/// `--deterministic`.
struct SessionSettings {
  std::string device = "auto";
  bool asynchronous = false; ///< See mpc_session_step.
  uint32_t threads = 0;
  bool deterministic = false;
  uint64_t seed = 0;
  std::string codeDir; ///< See mpc_session_options_t; "": none.
  const mpc_communicator_t *communicator = nullptr; ///< Null: one process.
  mpc_shard_t shard = MPC_SHARD_NONE;               ///< What ranks share.
  bool roundsGradients = false; ///< Ranks exchange them in bf16.

  /// Adds them to a subcommand.
  void addTo(CLI::App &command);
  /// Adds `--code-dir` to a subcommand that measures times.
  void addCodeDirTo(CLI::App &command);
};

class Session {
public:
  /// `program` must outlive the session. Notes on stderr which device it runs
  /// on, unless that is the CPU as expected.
  Session(const Program &program, const SessionSettings &settings);

  mpc_session_t *get() const { return handle.get(); }

  /// Loads a checkpoint, or the newest valid one of a folder of checkpoints.
  /// Prints a warning for each damaged one that it skips. Returns the path of
  /// the loaded checkpoint; throws if there is none. The checkpoint may be from
  /// another optimizer, because the caller needs only the weights.
  std::string load(const std::string &path);

  /// The same for a folder that may have no checkpoint: returns "" then.
  /// Optimizer states need not fit; `mismatch` describes the first that does
  /// not, or is "".
  std::string loadLatest(const std::string &folder, std::string &mismatch);

  std::optional<std::string> property(const std::string &name) const;
  void setProperty(const std::string &name, const std::string &value);

  /// A scalar control state ("learning_rate"), which is f32, or f64 in a
  /// program that computes in f64.
  double readScalar(const char *name) const;
  void writeScalar(const char *name, double value);

  /// A scalar control state of type i64 ("step_count").
  int64_t readCounter(const char *name) const;
  void writeCounter(const char *name, int64_t value);

  /// A number that differs for other values of states, except for those that
  /// follow from others.
  std::string fingerprint() const;

private:
  mpc_dtype_t typeOf(const char *state) const;

  const Program &program;
  struct Destroy {
    void operator()(mpc_session_t *session) const {
      mpc_session_destroy(session);
    }
  };
  std::unique_ptr<mpc_session_t, Destroy> handle;
};

/// The folder that "run:best" names; any other path unchanged.
std::string resolveBest(const std::string &path);

/// True if `path` is a checkpoint rather than a folder of checkpoints.
bool isCheckpoint(const std::string &path);

/// Sets the length of the schedule to `steps` updates if the program was
/// compiled without one.
void setTotalSteps(Session &session, const Program &program, uint64_t steps);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_RUNTIME_H
