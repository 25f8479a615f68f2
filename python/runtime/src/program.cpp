#include "python/runtime/src/program.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/runtime/src/errors.h"

namespace mpc::python {

Program Program::load(const std::string &path) {
  mpc_program_t *program = nullptr;
  mpc_status_t status;
  {
    nb::gil_scoped_release unlocked;
    status = mpc_program_load_file(path.c_str(), &program);
  }
  check(status);
  return Program(program);
}

Program Program::from_bytes(const nb::bytes &package) {
  mpc_program_t *program = nullptr;
  mpc_status_t status;
  {
    nb::gil_scoped_release unlocked;
    status = mpc_program_load_memory(package.data(), package.size(), &program);
  }
  check(status);
  return Program(program);
}

bool Program::has_entry(const std::string &entry) const {
  return mpc_program_has_entry(get(), entry.c_str()) != 0;
}

template <typename Count, typename Describe>
static std::vector<Binding> bindings(const mpc_program_t *program,
                                     const std::string &entry, Count count,
                                     Describe describe) {
  if (!mpc_program_has_entry(program, entry.c_str()))
    raise(MPC_INVALID_ARGUMENT,
          "the program has no entry point '" + entry + "'");
  std::vector<Binding> result;
  for (size_t i = 0; i < count(program, entry.c_str()); ++i) {
    mpc_binding_info_t info = {};
    info.struct_size = sizeof(info);
    check(describe(program, entry.c_str(), i, &info));
    result.push_back({nb::steal<nb::str>(PyUnicode_InternFromString(info.name)),
                      info.dtype,
                      {info.shape, info.shape + info.rank},
                      info.batch_dim});
  }
  return result;
}

std::vector<Binding> Program::inputs(const std::string &entry) const {
  return bindings(get(), entry, mpc_program_num_inputs, mpc_program_input);
}

std::vector<Binding> Program::outputs(const std::string &entry) const {
  return bindings(get(), entry, mpc_program_num_outputs, mpc_program_output);
}

mpc_state_info_t Program::state(size_t index) const {
  mpc_state_info_t info = {};
  info.struct_size = sizeof(info);
  check(mpc_program_state(get(), index, &info));
  return info;
}

static nb::tuple shape_of(const std::vector<int64_t> &shape) {
  nb::list extents;
  for (int64_t extent : shape) extents.append(extent);
  return nb::tuple(extents);
}

static nb::list describe(const std::vector<Binding> &bindings) {
  nb::list result;
  for (const Binding &binding : bindings)
    result.append(nb::make_tuple(binding.key, mpc_dtype_name(binding.dtype),
                                 shape_of(binding.shape), binding.batch_dim));
  return result;
}

static nb::list describe_states(const Program &program) {
  nb::list result;
  for (size_t i = 0; i < program.num_states(); ++i) {
    mpc_state_info_t info = program.state(i);
    result.append(nb::make_tuple(
        info.name, mpc_dtype_name(info.dtype),
        shape_of({info.shape, info.shape + info.rank}),
        static_cast<int>(info.role),
        info.weight ? nb::object(nb::str(info.weight)) : nb::none()));
  }
  return result;
}

static nb::dict options_of(const Program &program) {
  nb::dict result;
  for (size_t i = 0; i < mpc_program_num_options(program.get()); ++i) {
    const char *name = mpc_program_option_name(program.get(), i);
    result[name] = mpc_program_option(program.get(), name);
  }
  return result;
}

static std::vector<uint64_t> batch_sizes(const Program &program,
                                         const std::string &entry) {
  const size_t count =
      mpc_program_batch_sizes(program.get(), entry.c_str(), nullptr, 0);
  std::vector<uint64_t> sizes(count);
  mpc_program_batch_sizes(program.get(), entry.c_str(), sizes.data(), count);
  return sizes;
}

static nb::object report_of(const Program &program, nb::object device) {
  size_t size = 0;
  const char *text =
      device.is_none()
          ? mpc_program_report(program.get(), &size)
          : mpc_program_device_report(
                program.get(), nb::cast<std::string>(device).c_str(), &size);
  return text ? nb::object(nb::str(text, size)) : nb::none();
}

static nb::dict memory_of(const Program &program) {
  mpc_memory_info_t info = {};
  info.struct_size = sizeof(info);
  mpc_program_memory(program.get(), &info);
  nb::dict result;
  result["states"] = info.state_bytes;
  result["arena"] = info.arena_bytes;
  return result;
}

void bind_program(nb::module_ &module) {
  nb::class_<Program>(module, "Program")
      .def_static("load", &Program::load)
      .def_static("from_bytes", &Program::from_bytes)
      .def("has_entry", &Program::has_entry)
      .def("inputs",
           [](const Program &program, const std::string &entry) {
             return describe(program.inputs(entry));
           })
      .def("outputs",
           [](const Program &program, const std::string &entry) {
             return describe(program.outputs(entry));
           })
      .def("batch_sizes", &batch_sizes)
      .def("states", &describe_states)
      .def("options", &options_of)
      .def("report", &report_of, nb::arg("device").none())
      .def("memory", &memory_of);
}

}  // namespace mpc::python
