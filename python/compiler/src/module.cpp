// The extension module mpc_compiler._compiler: libmpccompiler for mpc.compile.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mpc/compiler.h"

namespace nb = nanobind;

namespace {

struct Destroy {
  void operator()(mpc_compile_options_t *options) const {
    mpc_compile_options_destroy(options);
  }
  void operator()(mpc_compilation_t *compilation) const {
    mpc_compilation_destroy(compilation);
  }
};
using Options = std::unique_ptr<mpc_compile_options_t, Destroy>;
using Compilation = std::unique_ptr<mpc_compilation_t, Destroy>;

struct Message {
  mpc_compile_message_kind_t kind;
  std::string node, op, text, rule;
};

// The outcome of a compilation, as mpc._compile takes it: code and text of the
// status, messages as (kind, node, op, text, rule), and the package or None.
nb::tuple outcome(mpc_status_t status, const std::vector<Message> &messages,
                  const mpc_compilation_t *compilation) {
  nb::list all;
  for (const Message &message : messages)
    all.append(nb::make_tuple(static_cast<int>(message.kind), message.node,
                              message.op, message.text, message.rule));
  size_t size = 0;
  const void *bytes = mpc_compilation_package(compilation, &size);
  nb::object package = bytes ? nb::object(nb::bytes(bytes, size)) : nb::none();
  nb::tuple result = nb::make_tuple(static_cast<int>(mpc_status_code(status)),
                                    mpc_status_message(status), all, package);
  mpc_status_free(status);
  return result;
}

void keep(void *user, const mpc_compile_message_t *message) {
  static_cast<std::vector<Message> *>(user)->push_back(
      {message->kind, message->node, message->op, message->text,
       message->rule});
}

// `model` is a path or the bytes of a model; `options` are names and values in
// the form of mpc_compile_options_set.
nb::tuple compile(
    const nb::object &model, const std::optional<std::string> &folder,
    const std::optional<std::string> &output,
    const std::vector<std::pair<std::string, std::string>> &options) {
  std::vector<Message> messages;
  mpc_compile_options_t *made = nullptr;
  if (mpc_status_t status = mpc_compile_options_create(&made))
    return outcome(status, messages, nullptr);
  const Options owned(made);
  mpc_compile_options_set_handler(made, keep, &messages);
  for (const auto &[name, value] : options)
    if (mpc_status_t status =
            mpc_compile_options_set(made, name.c_str(), value.c_str()))
      return outcome(status, messages, nullptr);
  nb::bytes bytes;
  std::string path;
  const bool is_bytes = nb::try_cast(model, bytes);
  if (!is_bytes) path = nb::cast<std::string>(model);
  mpc_compilation_t *compilation = nullptr;
  const char *to = output ? output->c_str() : nullptr;
  mpc_status_t status;
  {
    nb::gil_scoped_release unlocked;
    status = is_bytes ? mpc_compile_memory(bytes.data(), bytes.size(),
                                           folder ? folder->c_str() : nullptr,
                                           to, made, &compilation)
                      : mpc_compile(path.c_str(), to, made, &compilation);
  }
  const Compilation kept(compilation);
  return outcome(status, messages, compilation);
}

// All options as (name, type, metavar, default, section, help).
nb::list options() {
  nb::list result;
  for (size_t i = 0; i < mpc_compile_num_options(); ++i) {
    mpc_option_info_t info = {};
    info.struct_size = sizeof(info);
    if (mpc_status_t status = mpc_compile_option_info(i, &info)) {
      mpc_status_free(status);
      throw std::bad_alloc();
    }
    result.append(nb::make_tuple(info.name, static_cast<int>(info.type),
                                 info.metavar, info.default_value, info.section,
                                 info.help));
  }
  return result;
}

}  // namespace

NB_MODULE(_compiler, module) {
  module.doc() = "The C API of libmpccompiler; use mpc.compile instead.";
  module.def("compile", &compile, nb::arg("model"), nb::arg("folder").none(),
             nb::arg("output").none(), nb::arg("options"));
  module.def("options", &options);
}
