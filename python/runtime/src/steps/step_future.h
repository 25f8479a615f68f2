// mpc.StepFuture: the result of a step that is being computed.

#ifndef MPC_PYTHON_RUNTIME_SRC_STEPS_STEP_FUTURE_H_
#define MPC_PYTHON_RUNTIME_SRC_STEPS_STEP_FUTURE_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <vector>

#include "python/runtime/src/ranks/communicator.h"
#include "python/runtime/src/steps/step_info.h"
#include "python/runtime/src/steps/worker.h"
#include "python/runtime/src/tensor.h"
#include "python/runtime/src/turn.h"

namespace mpc::python {

namespace nb = nanobind;

class StepFuture {
 public:
  // Starts a step on tensors that `room` lends. The caller has the turn.
  // `ranks` may be null.
  StepFuture(std::shared_ptr<Turns> turns,
             std::shared_ptr<mpc_session_t> session,
             std::shared_ptr<Ranks> ranks, std::vector<Tensor> room);
  StepFuture(StepFuture &&) = default;
  // Waits for the step, which uses the memory of the batch.
  ~StepFuture();

  bool done() const;
  // Waits at most `timeout` seconds. Raises the error of the step, if there is
  // one, or TimeoutError.
  StepInfo result(std::optional<double> timeout);
  // The error instead of raising it; None if there is none.
  nb::object exception(std::optional<double> timeout);

 private:
  void wait(std::optional<double> timeout) const;

  std::shared_ptr<Turns> turns_;
  std::shared_ptr<mpc_session_t> session_;
  std::shared_ptr<Ranks> ranks_;
  std::vector<Tensor> room_;
  std::shared_ptr<AsyncStep> step_;  // Null after a move.
  bool is_known_ = false;            // Someone asked for the error.
};

void bind_step_future(nb::module_ &module);

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_STEPS_STEP_FUTURE_H_
