// Packages for the tests, built without a compiler.

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

// What to build. `edit` sees the tables before they are packed.
struct PackageOptions {
  bool loss_scaling = true;
  float loss_scale = 8;
  bool guarded = false;  // Tells whether a step was made; so it does anyway
                         // if the loss is scaled.
  uint32_t accumulate = 1;
  bool working_copy = true;
  std::string parameter = "w";  // Name of the first slot.
  // Code for CUDA that is added ("sm_90"): the same program, whose kernels a
  // test gives to a fake driver. Text of PTX, or a cubin.
  std::vector<std::string> ptx, cubins;
  std::string precision = "bf16";
  // A derived state, the parameters as `derive` copies them; what `show` gives,
  // and the state "runs", how often `derive` ran.
  bool derived = false;
  // Elements of another input of `step`, which adds it to the state
  // "bulk_sum". 0: there is none.
  int64_t bulk = 0;
  std::function<void(program::ProgramT&)> edit;
};

// The package: parameters w [4,2] and b [2], momentum, entry points `step` (or
// `accumulate` and `apply`), `evaluate`, `predict` (x @ w) and `count`.
Bytes make_package(const PackageOptions& options = {});

// Only a copy of input `x` to output `y`: small, without code.
Bytes make_small_package();

// Writes seal and checksums again after a change.
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

// What loading a package comes to.
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

// All state tensors one after the other.
Bytes all_states(const ProgramPtr& program, const SessionPtr& session);

// A folder of its own, removed with everything in it at the end.
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
