// The extension module mpc._runtime: the C API for the Python code in mpc.

#include <nanobind/nanobind.h>

#include "python/runtime/src/program.h"
#include "python/runtime/src/session.h"

NB_MODULE(_runtime, module) {
  module.doc() = "The C API of libmpcrt; use the package mpc instead.";
  mpc::python::bind_program(module);
  mpc::python::bind_session(module);
}
