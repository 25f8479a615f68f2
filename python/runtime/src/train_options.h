// mpc._runtime.TrainOptions: options of `mpc train`, and what it says.

#ifndef MPC_PYTHON_RUNTIME_SRC_TRAIN_OPTIONS_H_
#define MPC_PYTHON_RUNTIME_SRC_TRAIN_OPTIONS_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mpc/train.h"
#include "python/runtime/src/ranks/communicator.h"

namespace mpc::python {

namespace nb = nanobind;

// Datasets and trainers share them with the options that they were made with.
struct TrainMessages {
  std::mutex mutex;
  std::vector<std::pair<mpc_message_kind_t, std::string>> list;
};

class TrainOptions {
 public:
  explicit TrainOptions(
      const std::vector<std::pair<std::string, std::string>> &values);

  const mpc_train_options_t *get() const { return options_.get(); }
  const std::shared_ptr<TrainMessages> &messages() const { return messages_; }

  // Lets trainers with these options train together with the other ranks.
  void set_communicator(const Communicator &communicator);
  const std::shared_ptr<Ranks> &ranks() const { return ranks_; }

  // The messages since the last call, as tuples of kind and text.
  nb::list take_messages();

 private:
  std::shared_ptr<TrainMessages> messages_ = std::make_shared<TrainMessages>();
  std::shared_ptr<mpc_train_options_t> options_;
  std::shared_ptr<Ranks> ranks_;  // Null: there is only one.
};

void bind_train_options(nb::module_ &module);

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_TRAIN_OPTIONS_H_
