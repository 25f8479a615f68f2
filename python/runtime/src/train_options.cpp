#include "python/runtime/src/train_options.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/runtime/src/errors.h"

namespace mpc::python {

static void keep_message(void *user, mpc_message_kind_t kind,
                         const char *text) {
  auto *messages = static_cast<TrainMessages *>(user);
  std::lock_guard<std::mutex> lock(messages->mutex);
  messages->list.emplace_back(kind, text);
}

TrainOptions::TrainOptions(
    const std::vector<std::pair<std::string, std::string>> &values) {
  mpc_train_options_t *options = nullptr;
  check(mpc_train_options_create(&options));
  options_ = {options, mpc_train_options_destroy};
  for (const auto &[name, value] : values)
    check(mpc_train_options_set(options, name.c_str(), value.c_str()));
  mpc_train_options_set_handler(options, keep_message, messages_.get());
}

void TrainOptions::set_communicator(const Communicator &communicator) {
  communicator.ranks()->require_open();
  ranks_ = communicator.ranks();
  check(
      mpc_train_options_set_communicator(options_.get(), &ranks_->functions()));
}

nb::list TrainOptions::take_messages() {
  std::vector<std::pair<mpc_message_kind_t, std::string>> taken;
  {
    std::lock_guard<std::mutex> lock(messages_->mutex);
    taken.swap(messages_->list);
  }
  nb::list result;
  for (const auto &[kind, text] : taken)
    result.append(nb::make_tuple(static_cast<int>(kind), text));
  return result;
}

void bind_train_options(nb::module_ &module) {
  nb::class_<TrainOptions>(module, "TrainOptions")
      .def(nb::init<const std::vector<std::pair<std::string, std::string>> &>())
      .def("set_communicator", &TrainOptions::set_communicator)
      .def("take_messages", &TrainOptions::take_messages);
}

}  // namespace mpc::python
