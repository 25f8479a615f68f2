// Test packages, built without the compiler.

#ifndef MPC_TEST_RUNTIME_PACKAGE_H_
#define MPC_TEST_RUNTIME_PACKAGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mpc/runtime.h"
#include "runtime/src/program/program_generated.h"

namespace mpc::test {

using Bytes = std::vector<uint8_t>;

// What to build. `edit` can change the tables before they are packed.
struct PackageOptions {
  bool loss_scaling = true;
  float loss_scale = 8;
  bool guarded = false;  // Report whether a step was finite; always done if the
                         // loss is scaled.
  uint32_t accumulate = 1;
  bool working_copy = true;
  std::string parameter = "w";  // Name of the first slot.
  // Architectures ("sm_90") for which CUDA code is added, as PTX text or cubin:
  // the same program, with kernels that a test registers with a fake driver.
  std::vector<std::string> ptx, cubins;
  std::string precision = "bf16";
  // Adds a derived state to which `derive` copies the parameters, the entry
  // point `show`, which returns it, and the state "runs", which counts runs of
  // `derive`.
  bool derived = false;
  // Number of elements of another input of `step`, which adds it to the state
  // "bulk_sum". 0: no such input.
  int64_t bulk = 0;
  // Elements of another state, "table", whose initial values are their indices.
  int64_t table = 0;
  std::function<void(program::ProgramT&)> edit;
};

// The package: parameters w [4,2] and b [2], momentum, entry points `step` (or
// `accumulate` and `apply`), `evaluate`, `predict` (x @ w) and `count`.
Bytes make_package(const PackageOptions& options = {});

// A small package without code that only copies input `x` to output `y`.
Bytes make_small_package();

// Updates checksums and seal after a change.
void seal(Bytes* package);

struct ProgramDeleter {
  void operator()(mpc_program_t* program) const {
    mpc_program_destroy(program);
  }
};
struct SessionDeleter {
  void operator()(mpc_session_t* session) const {
    mpc_session_destroy(session);
  }
};
using ProgramPtr = std::unique_ptr<mpc_program_t, ProgramDeleter>;
using SessionPtr = std::unique_ptr<mpc_session_t, SessionDeleter>;

// Code and message of a status, which is freed.
struct Outcome {
  mpc_code_t code;
  std::string message;
};
Outcome take(mpc_status_t status);

// The outcome of loading a package.
Outcome try_load(const Bytes& package);

// These fail the test on an error.
ProgramPtr load(const Bytes& package);
SessionPtr create(const ProgramPtr& program, uint32_t threads = 1);

// A batch for the package: x filled with `value`, labels 0 and 1.
struct Batch {
  explicit Batch(float value);
  Batch(const Batch&) = delete;
  float x[16];
  int64_t labels[4] = {0, 1, 0, 1};
  int64_t x_shape[2] = {4, 4};
  int64_t labels_shape[1] = {4};
  mpc_tensor_t tensors[2];
};

mpc_step_info_t step(const SessionPtr& session, float value);

// All bytes of a state tensor.
Bytes read_state(const SessionPtr& session, const char* name);
float read_float(const SessionPtr& session, const char* name);

// All state tensors, concatenated.
Bytes all_states(const ProgramPtr& program, const SessionPtr& session);

// A temporary folder that is removed with its contents by the destructor.
class Folder {
 public:
  Folder();
  ~Folder();
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const {
    return path_ + '/' + name;
  }

 private:
  std::string path_;
};

Bytes read_bytes(const std::string& path);
void write_bytes(const std::string& path, const Bytes& bytes);
std::vector<std::string> names_in(const std::string& folder);

}  // namespace mpc::test

#define EXPECT_OK(expression)                             \
  do {                                                    \
    auto outcome_ = ::mpc::test::take(expression);        \
    EXPECT_EQ(outcome_.code, MPC_OK) << outcome_.message; \
  } while (0)

#endif  // MPC_TEST_RUNTIME_PACKAGE_H_
