#include "python/runtime/src/errors.h"

#include <nanobind/stl/string.h>

namespace mpc::python {

void raise_object(const nb::object &error) {
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())),
                  error.ptr());
  throw nb::python_error();
}

nb::object make_error(mpc_code_t code, const std::string &message) {
  return nb::module_::import_("mpc._errors")
      .attr("make_error")(static_cast<int>(code), message);
}

void raise(mpc_code_t code, const std::string &message) {
  raise_object(make_error(code, message));
}

void raise(mpc_code_t code, const std::string &message, nb::object info) {
  nb::object error = make_error(code, message);
  error.attr("info") = info;
  raise_object(error);
}

void check(mpc_status_t status) {
  if (!status) return;
  const mpc_code_t code = mpc_status_code(status);
  const std::string message = mpc_status_message(status);
  mpc_status_free(status);
  raise(code, message);
}

}  // namespace mpc::python
