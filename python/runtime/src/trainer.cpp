#include "python/runtime/src/trainer.h"

#include <nanobind/stl/string.h>

#include "python/runtime/src/errors.h"
#include "python/runtime/src/session.h"

namespace mpc::python {

Trainer::Trainer(const Program &program, const Dataset &data,
                 const Dataset *eval_data, const TrainOptions &options)
    : program_(program),
      data_(data.held()),
      eval_data_(eval_data ? eval_data->held() : nullptr),
      ranks_(options.ranks()) {
  mpc_trainer_t *trainer = nullptr;
  mpc_status_t status;
  {
    nb::gil_scoped_release unlocked;
    status = mpc_trainer_create(program.get(), data_->dataset,
                                eval_data_ ? eval_data_->dataset : nullptr,
                                options.get(), &trainer);
  }
  check_training(status);
  // It may outlive this object, because its session does.
  trainer_ = {trainer, [turns = turns_, program = program_, data = data_,
                        eval_data = eval_data_, ranks = ranks_,
                        messages = options.messages()](mpc_trainer_t *made) {
                if (getpid() == turns->process) mpc_trainer_destroy(made);
              }};
}

// Raises the error of a callback first, which the status stands for.
void Trainer::check_training(mpc_status_t status) const {
  if (status && data_->error) return data_->check(status);
  python::check(status, ranks_);
}

// Calls a function of the C API without the GIL.
template <typename Function, typename... Arguments>
void Trainer::call(Function function, Arguments... arguments) {
  mpc_status_t status;
  {
    const Turn turn(*turns_, "session");
    nb::gil_scoped_release unlocked;
    status = function(trainer_.get(), arguments...);
  }
  check_training(status);
}

mpc_trainer_info_t Trainer::step() {
  mpc_trainer_info_t info = {};
  info.struct_size = sizeof(info);
  call(mpc_trainer_step, &info);
  return info;
}

void Trainer::evaluate() { call(mpc_trainer_evaluate); }

void Trainer::save() { call(mpc_trainer_save); }

nb::dict Trainer::metrics() {
  nb::dict result;
  for (size_t i = 0; i < mpc_trainer_num_metrics(trainer_.get()); ++i) {
    const char *name = mpc_trainer_metric_name(trainer_.get(), i);
    double value = 0;
    python::check(mpc_trainer_metric(trainer_.get(), name, &value));
    result[name] = value;
  }
  return result;
}

std::string Trainer::checkpoint() {
  return mpc_trainer_checkpoint(trainer_.get());
}

std::shared_ptr<mpc_session_t> Trainer::session() const {
  return {trainer_, mpc_trainer_session(trainer_.get())};
}

void bind_trainer(nb::module_ &module) {
  using Info = mpc_trainer_info_t;
  nb::class_<Info>(module, "TrainerInfo")
      .def_ro("step", &Info::step)
      .def_ro("total_steps", &Info::total_steps)
      .def_ro("epoch", &Info::epoch)
      .def_ro("loss", &Info::loss)
      .def_ro("scale", &Info::loss_scale)
      .def_ro("grad_norm", &Info::grad_norm)
      .def_ro("lr", &Info::learning_rate)
      .def_prop_ro("skipped",
                   [](const Info &info) { return info.skipped != 0; })
      .def_prop_ro("evaluated",
                   [](const Info &info) { return info.evaluated != 0; })
      .def_prop_ro("saved", [](const Info &info) { return info.saved != 0; })
      .def_prop_ro("ends_epoch",
                   [](const Info &info) { return info.ends_epoch != 0; })
      .def_prop_ro("done", [](const Info &info) { return info.done != 0; });

  nb::class_<Trainer>(module, "Trainer")
      .def(nb::init<const Program &, const Dataset &, const Dataset *,
                    const TrainOptions &>(),
           nb::arg("program"), nb::arg("data"), nb::arg("eval_data").none(),
           nb::arg("options"))
      .def("step", &Trainer::step)
      .def("evaluate", &Trainer::evaluate)
      .def("save", &Trainer::save)
      .def("metrics", &Trainer::metrics)
      .def("checkpoint", &Trainer::checkpoint);
}

}  // namespace mpc::python
