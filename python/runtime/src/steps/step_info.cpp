#include "python/runtime/src/steps/step_info.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdio>

namespace mpc::python {

namespace nb = nanobind;

std::optional<float> StepInfo::lr() const {
  if (info.learning_rate == 0) return std::nullopt;
  return info.learning_rate;
}

std::string StepInfo::repr() const {
  char text[96];
  std::snprintf(text, sizeof(text), "StepInfo(step=%llu, loss=%.6g%s)",
                static_cast<unsigned long long>(info.step), info.loss,
                info.skipped ? ", skipped=True" : "");
  return text;
}

void bind_step_info(nb::module_ &module) {
  nb::class_<StepInfo>(module, "StepInfo",
                       "What a step did; see mpc.Session.step.")
      .def_prop_ro(
          "loss", [](const StepInfo &self) { return self.info.loss; },
          "The loss, as the model reduces it.")
      .def_prop_ro(
          "step", [](const StepInfo &self) { return self.info.step; },
          "Updates since the start of training, with this one.")
      .def_prop_ro(
          "skipped",
          [](const StepInfo &self) { return self.info.skipped != 0; },
          "Whether gradients overflowed, so that no weight changed.")
      .def_prop_ro(
          "updated",
          [](const StepInfo &self) { return self.info.updated != 0; },
          "Whether weights changed: not between the updates of a "
          "program that accumulates gradients.")
      .def_prop_ro(
          "update_loss",
          [](const StepInfo &self) { return self.info.update_loss; },
          "The loss of all batches of the update; 0 between updates.")
      .def_prop_ro(
          "scale", [](const StepInfo &self) { return self.info.loss_scale; },
          "The loss scale of the step; 1 without loss scaling.")
      .def_prop_ro(
          "grad_norm", [](const StepInfo &self) { return self.info.grad_norm; },
          "The L2 norm of all gradients before clipping.")
      .def_prop_ro("lr", &StepInfo::lr,
                   "The learning rate, if a schedule computes it, else None; "
                   "see mpc.Session.lr.")
      .def("__repr__", &StepInfo::repr);
}

}  // namespace mpc::python
