#include "python/runtime/src/steps/step_future.h"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "python/runtime/src/errors.h"

namespace mpc::python {

using Clock = std::chrono::steady_clock;

static std::vector<mpc_tensor_t> tensors_of(const std::vector<Tensor> &room) {
  std::vector<mpc_tensor_t> tensors;
  for (const Tensor &tensor : room) tensors.push_back(tensor.get());
  return tensors;
}

StepFuture::StepFuture(std::shared_ptr<Turns> turns,
                       std::shared_ptr<mpc_session_t> session,
                       std::shared_ptr<Ranks> ranks, std::vector<Tensor> room)
    : turns_(std::move(turns)),
      session_(std::move(session)),
      ranks_(std::move(ranks)),
      room_(std::move(room)),
      step_(std::make_shared<AsyncStep>(session_.get(), tensors_of(room_))) {
  turns_->start(step_);
}

StepFuture::~StepFuture() {
  if (!step_ || getpid() != turns_->process) return;
  while (!step_->is_done()) {
    nb::gil_scoped_release unlocked;
    step_->wait(std::chrono::seconds(1));
  }
  if (is_known_ || !step_->status()) return;
  const std::string text =
      std::string("a step failed, but its result() was not called: ") +
      mpc_status_message(step_->status());
  nb::error_scope others;
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0)
    PyErr_WriteUnraisable(nullptr);
}

bool StepFuture::done() const {
  turns_->require_process("session");
  return step_->is_done();
}

void StepFuture::wait(std::optional<double> timeout) const {
  turns_->require_process("session");
  const Clock::time_point begin = Clock::now();
  while (!step_->is_done()) {
    const std::chrono::duration<double> waited = Clock::now() - begin;
    if (timeout && waited.count() >= *timeout) {
      PyErr_SetString(PyExc_TimeoutError, "the step is not done");
      throw nb::python_error();
    }
    const double left = timeout ? *timeout - waited.count() : kSignalSeconds;
    wait_without_gil(*step_, std::min(left, kSignalSeconds));
  }
}

nb::object StepFuture::exception(std::optional<double> timeout) {
  wait(timeout);
  is_known_ = true;
  if (!step_->status()) return nb::none();
  const mpc_code_t code = mpc_status_code(step_->status());
  const char *const message = mpc_status_message(step_->status());
  nb::object error =
      ranks_ ? ranks_->make_error(code, message) : make_error(code, message);
  if (code == MPC_NUMERIC)
    error.attr("info") = nb::cast(StepInfo{step_->info()});
  return error;
}

StepInfo StepFuture::result(std::optional<double> timeout) {
  const nb::object error = exception(timeout);
  if (!error.is_none()) raise_object(error);
  return {step_->info()};
}

void bind_step_future(nb::module_ &module) {
  nb::class_<StepFuture>(
      module, "StepFuture",
      "A step that is being computed, of Session.step_async. Its methods are "
      "those of concurrent.futures.Future.")
      .def("done", &StepFuture::done, "Whether the step is complete.")
      .def("result", &StepFuture::result, nb::arg("timeout") = nb::none(),
           "Waits for the step and returns its StepInfo.\n\n"
           "Args:\n"
           "    timeout: Seconds to wait; None: until the step is done.\n\n"
           "Raises:\n"
           "    TimeoutError: The step is not done; it continues.\n"
           "    Error: The step failed, as in Session.step.")
      .def("exception", &StepFuture::exception, nb::arg("timeout") = nb::none(),
           "Waits for the step and returns its error, or None.");
}

}  // namespace mpc::python
