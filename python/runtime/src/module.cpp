// The extension module mpc._runtime: the C API for the Python code in mpc.

#include <nanobind/nanobind.h>

#include "python/runtime/src/dataset.h"
#include "python/runtime/src/program.h"
#include "python/runtime/src/ranks/communicator.h"
#include "python/runtime/src/session.h"
#include "python/runtime/src/steps/step_future.h"
#include "python/runtime/src/steps/step_info.h"
#include "python/runtime/src/steps/worker.h"
#include "python/runtime/src/train_options.h"
#include "python/runtime/src/trainer.h"

NB_MODULE(_runtime, module) {
  // A program may end while a cycle of references holds a session.
  nanobind::set_leak_warnings(false);
  // Neither may it end while a thread computes a step.
  Py_AtExit(mpc::python::wait_for_steps);
  module.doc() =
      "The C API of libmpcrt and libmpctrain; use the package mpc instead.";
  mpc::python::bind_program(module);
  mpc::python::bind_step_info(module);
  mpc::python::bind_step_future(module);
  mpc::python::bind_communicator(module);
  mpc::python::bind_session(module);
  mpc::python::bind_train_options(module);
  mpc::python::bind_dataset(module);
  mpc::python::bind_trainer(module);
}
