// mpc._runtime.Session: what mpc.Session does in C++.

#ifndef MPC_PYTHON_RUNTIME_SRC_SESSION_H_
#define MPC_PYTHON_RUNTIME_SRC_SESSION_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "mpc/session.h"
#include "python/runtime/src/program.h"
#include "python/runtime/src/ranks/communicator.h"
#include "python/runtime/src/steps/step_future.h"
#include "python/runtime/src/steps/step_info.h"
#include "python/runtime/src/tensor.h"
#include "python/runtime/src/turn.h"

namespace mpc::python {

namespace nb = nanobind;

class Session {
 public:
  // `on_torch`: on the threads of PyTorch instead of its own; see
  // torch_threads.h. `communicator` may be null.
  Session(const Program &program, const std::string &device, uint32_t threads,
          bool deterministic, uint64_t seed, bool allow_non_finite, bool copy,
          bool on_torch, const Communicator *communicator, uint32_t shard,
          uint32_t grad_comm);
  // The session of a trainer, which alone may step it.
  Session(const Program &program, std::shared_ptr<mpc_session_t> session,
          std::shared_ptr<Turns> turns, std::shared_ptr<Ranks> ranks);
  Session(const Session &) = delete;

  StepInfo step(const nb::args &batch, const nb::kwargs &named);
  StepFuture step_async(const nb::args &batch, const nb::kwargs &named);
  StepInfo finish_update();

  // Runs an entry point; `outputs` has an array for each output, or None for
  // those that are not fetched.
  void run(const std::string &entry, nb::handle batch,
           const nb::sequence &outputs);

  // The sums of mpc_metrics_t over the first `num_valid` samples, as a tuple.
  nb::tuple evaluate_batch(nb::handle batch, size_t num_valid);

  void read_state(const std::string &name, nb::handle array);
  void write_state(const std::string &name, nb::handle array);
  // A NumPy array over the memory of a state of f32 or f64, which keeps it in
  // place even if the session is closed.
  nb::object state_memory(const std::string &name);

  nb::object get_property(const std::string &name);
  void set_property(const std::string &name,
                    const std::optional<std::string> &value);

  void write_checkpoint(const std::string &path);
  void read_checkpoint(const std::string &path);
  // The path of the checkpoint and a warning; None instead if there is none.
  nb::tuple load_latest(const std::string &folder);

  // Measures every instruction, and keeps the runs of the last calls.
  void start_profile(uint64_t timeline_calls);
  // Calls, nanoseconds, a tuple for each record, and the timeline.
  nb::tuple stop_profile();

  std::string device();
  void close();
  bool closed() const { return !session_; }

  uint32_t rank() const { return ranks_ ? ranks_->functions().rank : 0; }
  uint32_t num_ranks() const { return ranks_ ? ranks_->functions().size : 1; }

 private:
  class Use;

  void describe();
  void require_own() const;
  void require_ranks() const;
  const std::vector<Binding> &inputs(const std::string &entry);
  std::vector<mpc_tensor_t> take(nb::handle batch,
                                 const std::vector<Binding> &bindings,
                                 std::vector<Tensor> &room);
  void take_one(nb::handle array, const char *kind, nb::handle name,
                mpc_dtype_t dtype, Access access, std::vector<Tensor> &room,
                std::vector<mpc_tensor_t> &tensors);
  Tensor take_state(const std::string &name, nb::handle array, Access access);
  void raise_numeric(mpc_status_t status, const StepInfo &info);

  const Program program_;  // Outlives the session.
  const std::shared_ptr<Turns> turns_;
  const bool copy_;
  const bool is_borrowed_ = false;
  const std::shared_ptr<Ranks> ranks_;  // Null: there is only one.
  std::shared_ptr<mpc_session_t> session_;
  std::string step_entry_;
  size_t parts_ = 0;  // Losses in a sum of losses.
  std::unordered_map<std::string, std::vector<Binding>> inputs_;
  std::unordered_map<std::string, mpc_dtype_t> states_;
};

void bind_session(nb::module_ &module);

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_SESSION_H_
