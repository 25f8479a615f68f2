// mpc._runtime.Program: a loaded package.

#ifndef MPC_PYTHON_RUNTIME_SRC_PROGRAM_H_
#define MPC_PYTHON_RUNTIME_SRC_PROGRAM_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "mpc/program.h"

namespace mpc::python {

namespace nb = nanobind;

// An input or output of an entry point. `key` is its name as Python's string,
// whose hash is computed once.
struct Binding {
  nb::str key;
  mpc_dtype_t dtype;
  std::vector<int64_t> shape;
  int32_t batch_dim;
};

class Program {
 public:
  static Program load(const std::string &path);
  static Program from_bytes(const nb::bytes &package);

  const mpc_program_t *get() const { return program_.get(); }

  bool has_entry(const std::string &entry) const;
  std::vector<Binding> inputs(const std::string &entry) const;
  std::vector<Binding> outputs(const std::string &entry) const;
  size_t num_states() const { return mpc_program_num_states(get()); }
  mpc_state_info_t state(size_t index) const;

 private:
  explicit Program(mpc_program_t *program)
      : program_(program, mpc_program_destroy) {}

  std::shared_ptr<mpc_program_t> program_;  // Shared with sessions.
};

void bind_program(nb::module_ &module);

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_PROGRAM_H_
