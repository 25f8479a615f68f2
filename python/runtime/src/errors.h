// Statuses of the C API as exceptions.

#ifndef MPC_PYTHON_RUNTIME_SRC_ERRORS_H_
#define MPC_PYTHON_RUNTIME_SRC_ERRORS_H_

#include <nanobind/nanobind.h>

#include <string>

#include "mpc/status.h"

namespace mpc::python {

namespace nb = nanobind;

// Raises the exception of mpc._errors that stands for `code`. Needs the GIL, as
// everything in this folder does unless stated otherwise.
[[noreturn]] void raise(mpc_code_t code, const std::string &message);

// The same with the attribute `info`, which NumericError has.
[[noreturn]] void raise(mpc_code_t code, const std::string &message,
                        nb::object info);

// The exception itself, and how to raise one.
nb::object make_error(mpc_code_t code, const std::string &message);
[[noreturn]] void raise_object(const nb::object &error);

// Raises and frees `status` unless it is NULL.
void check(mpc_status_t status);

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_ERRORS_H_
