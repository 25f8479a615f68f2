// mpc.StepInfo: what mpc_session_step reports.

#ifndef MPC_PYTHON_RUNTIME_SRC_STEPS_STEP_INFO_H_
#define MPC_PYTHON_RUNTIME_SRC_STEPS_STEP_INFO_H_

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "mpc/session.h"

namespace mpc::python {

struct StepInfo {
  mpc_step_info_t info = {};

  // The rate of a schedule, or none.
  std::optional<float> lr() const;
  std::string repr() const;
};

void bind_step_info(nanobind::module_ &module);

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_STEPS_STEP_INFO_H_
