// mpc._runtime.Trainer: the loop of `mpc train`.

#ifndef MPC_PYTHON_RUNTIME_SRC_TRAINER_H_
#define MPC_PYTHON_RUNTIME_SRC_TRAINER_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "mpc/train.h"
#include "python/runtime/src/dataset.h"
#include "python/runtime/src/program.h"
#include "python/runtime/src/train_options.h"
#include "python/runtime/src/turn.h"

namespace mpc::python {

namespace nb = nanobind;

class Trainer {
 public:
  // `eval_data` may be null.
  Trainer(const Program &program, const Dataset &data, const Dataset *eval_data,
          const TrainOptions &options);

  // Makes one update and what is due after it.
  mpc_trainer_info_t step();
  void evaluate();
  void save();

  // The numbers of the last evaluation, by name.
  nb::dict metrics();
  // The path of the last checkpoint, or "".
  std::string checkpoint();

  // Its state, and what only the trainer may use while it makes a step.
  std::shared_ptr<mpc_session_t> session() const;
  const Program &program() const { return program_; }
  const std::shared_ptr<Turns> &turns() const { return turns_; }
  const std::shared_ptr<Ranks> &ranks() const { return ranks_; }

 private:
  void check_training(mpc_status_t status) const;
  template <typename Function, typename... Arguments>
  void call(Function function, Arguments... arguments);

  const Program program_;
  const std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();
  const std::shared_ptr<Dataset::Held> data_, eval_data_;
  const std::shared_ptr<Ranks> ranks_;  // Null: there is only one.
  std::shared_ptr<mpc_trainer_t> trainer_;
};

void bind_trainer(nb::module_ &module);

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_TRAINER_H_
