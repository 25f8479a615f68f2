#include "python/runtime/src/session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <utility>

#include "mpc/profile.h"
#include "python/runtime/src/errors.h"
#include "python/runtime/src/torch_threads.h"
#include "python/runtime/src/trainer.h"

namespace mpc::python {

//===----------------------------------------------------------------------===//
// Lifetime
//===----------------------------------------------------------------------===//

// The right to use a session that is open.
class Session::Use {
 public:
  explicit Use(Session &session)
      : turn_(*session.turns_, "session"), session_(session) {
    if (!session.session_)
      raise(MPC_INVALID_ARGUMENT,
            "the session is closed; create another one with "
            "mpc.Session(program)");
  }

  // Calls a function of the C API without the GIL.
  template <typename Function, typename... Arguments>
  mpc_status_t call(Function function, Arguments... arguments) const {
    nb::gil_scoped_release unlocked;
    return function(session_.session_.get(), arguments...);
  }

 private:
  const Turn turn_;
  Session &session_;
};

// The number of losses in a sum of losses, whose outputs have this prefix.
static size_t count_parts(const Program &program) {
  size_t count = 0;
  if (!program.has_entry("evaluate")) return count;
  for (const Binding &output : program.outputs("evaluate"))
    count += std::strncmp(output.key.c_str(), "sample_loss:", 12) == 0;
  return count;
}

Session::Session(const Program &program, const std::string &device,
                 uint32_t threads, bool deterministic, uint64_t seed,
                 bool allow_non_finite, bool copy, bool on_torch,
                 const Communicator *communicator, uint32_t shard,
                 uint32_t grad_comm)
    : program_(program),
      turns_(std::make_shared<Turns>()),
      copy_(copy),
      ranks_(communicator ? communicator->ranks() : nullptr) {
  describe();
  require_ranks();
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.device = device.c_str();
  options.threads = threads;
  options.deterministic = deterministic;
  options.seed = seed;
  options.allow_non_finite = allow_non_finite;
  if (on_torch) options.thread_pool = torch_threads();
  if (ranks_) {
    options.communicator = &ranks_->functions();
    options.shard = static_cast<mpc_shard_t>(shard);
    options.gradient_exchange = static_cast<mpc_gradient_exchange_t>(grad_comm);
  }
  mpc_status_t status;
  mpc_session_t *session = nullptr;
  {
    nb::gil_scoped_release unlocked;
    status = mpc_session_create(program_.get(), &options, &session);
  }
  check(status, ranks_);
  session_ = {session, [turns = turns_, program = program_,
                        ranks = ranks_](mpc_session_t *made) {
                // A forked process has no threads to end: the memory of the
                // session goes with it.
                if (getpid() == turns->process) mpc_session_destroy(made);
              }};
}

Session::Session(const Program &program, std::shared_ptr<mpc_session_t> session,
                 std::shared_ptr<Turns> turns, std::shared_ptr<Ranks> ranks)
    : program_(program),
      turns_(std::move(turns)),
      copy_(false),
      is_borrowed_(true),
      ranks_(std::move(ranks)),
      session_(std::move(session)) {
  describe();
}

void Session::describe() {
  step_entry_ = program_.has_entry("accumulate") ? "accumulate" : "step";
  parts_ = count_parts(program_);
  for (size_t i = 0; i < program_.num_states(); ++i) {
    const mpc_state_info_t info = program_.state(i);
    states_.emplace(info.name, info.dtype);
  }
}

void Session::close() {
  if (!session_ || getpid() != turns_->process) return;
  Use use(*this);
  session_.reset();
}

std::string Session::device() {
  Use use(*this);
  return mpc_session_device(session_.get());
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

const std::vector<Binding> &Session::inputs(const std::string &entry) {
  auto known = inputs_.find(entry);
  if (known == inputs_.end())
    known = inputs_.emplace(entry, program_.inputs(entry)).first;
  return known->second;
}

// Appends the tensor of an array. What cannot be borrowed as it is goes through
// mpc._arrays.fit, which makes another array of it or raises an error.
void Session::take_one(nb::handle array, const char *kind, nb::handle name,
                       mpc_dtype_t dtype, Access access,
                       std::vector<Tensor> &room,
                       std::vector<mpc_tensor_t> &tensors) {
  Tensor &tensor = room.emplace_back();
  if (!tensor.take(array, dtype, access)) {
    nb::object fitting =
        nb::module_::import_("mpc._arrays")
            .attr("fit")(kind, name, array, mpc_dtype_name(dtype),
                         access == Access::kWrite, copy_);
    if (!tensor.take(fitting, dtype, access, /*bits=*/true))
      raise(MPC_INTERNAL, "an array cannot be borrowed");
  }
  tensors.push_back(tensor.get());
}

// The tensors of a batch: a dict by input name, a sequence in the order of the
// inputs, or one array.
std::vector<mpc_tensor_t> Session::take(nb::handle batch,
                                        const std::vector<Binding> &bindings,
                                        std::vector<Tensor> &room) {
  const bool is_dict = PyDict_Check(batch.ptr());
  const bool is_sequence =
      PyTuple_Check(batch.ptr()) || PyList_Check(batch.ptr());
  nb::object values;
  if (!is_dict || PyDict_Size(batch.ptr()) != Py_ssize_t(bindings.size()))
    if (!is_sequence || nb::len(batch) != bindings.size()) {
      nb::list names;
      for (const Binding &binding : bindings) names.append(binding.key);
      values =
          nb::module_::import_("mpc._arrays").attr("by_order")(batch, names);
    }
  room.reserve(bindings.size());
  std::vector<mpc_tensor_t> tensors;
  tensors.reserve(bindings.size());
  for (size_t i = 0; i < bindings.size(); ++i) {
    const Binding &binding = bindings[i];
    nb::object array;
    if (values.is_valid())
      array = values[i];
    else if (is_sequence)
      array = batch[i];
    else
      array =
          nb::borrow(PyDict_GetItemWithError(batch.ptr(), binding.key.ptr()));
    if (!array.is_valid()) {
      if (PyErr_Occurred()) throw nb::python_error();
      // As many entries as inputs, but other names: raises the error.
      nb::list names;
      for (const Binding &other : bindings) names.append(other.key);
      nb::module_::import_("mpc._arrays").attr("by_order")(batch, names);
    }
    take_one(array, "input", binding.key, binding.dtype, Access::kRead, room,
             tensors);
  }
  return tensors;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Session::raise_numeric(mpc_status_t status, const StepInfo &info) {
  if (mpc_status_code(status) != MPC_NUMERIC) return check(status, ranks_);
  const std::string message = mpc_status_message(status);
  mpc_status_free(status);
  raise(MPC_NUMERIC, message, nb::cast(info));
}

void Session::require_own() const {
  if (is_borrowed_)
    raise(MPC_INVALID_ARGUMENT,
          "the session belongs to an mpc.Trainer, which makes its steps; use "
          "train()");
}

// A step without them would leave the session in an unknown state.
void Session::require_ranks() const {
  if (ranks_) ranks_->require_open();
}

// What a step takes: one batch, or the inputs as keywords.
static nb::handle batch_of(const nb::args &batch, const nb::kwargs &named) {
  if (batch.size() + (named.size() > 0) != 1)
    throw nb::type_error(
        "step() takes one batch (a dict by input name, a sequence in the order "
        "of the inputs, or an array), or the inputs as keywords");
  return batch.size() == 1 ? nb::handle(batch[0]) : nb::handle(named);
}

StepInfo Session::step(const nb::args &batch, const nb::kwargs &named) {
  require_own();
  require_ranks();
  const nb::handle given = batch_of(batch, named);
  Use use(*this);
  std::vector<Tensor> room;
  const std::vector<mpc_tensor_t> tensors =
      take(given, inputs(step_entry_), room);
  StepInfo result;
  result.info.struct_size = sizeof(result.info);
  mpc_status_t status =
      use.call(mpc_session_step, tensors.data(), tensors.size(), &result.info);
  if (status) raise_numeric(status, result);
  return result;
}

StepFuture Session::step_async(const nb::args &batch, const nb::kwargs &named) {
  require_own();
  require_ranks();
  if (ranks_ && !ranks_->any_thread())
    raise(MPC_INVALID_ARGUMENT,
          "step_async() calls the communicator in another thread, but MPI was "
          "initialized for one thread; use step(), or initialize MPI with "
          "MPI_THREAD_SERIALIZED");
  const nb::handle given = batch_of(batch, named);
  Use use(*this);
  std::vector<Tensor> room;
  take(given, inputs(step_entry_), room);
  return StepFuture(turns_, session_, ranks_, std::move(room));
}

StepInfo Session::finish_update() {
  require_own();
  require_ranks();
  Use use(*this);
  StepInfo result;
  result.info.struct_size = sizeof(result.info);
  mpc_status_t status = use.call(mpc_session_finish_update, &result.info);
  if (status) raise_numeric(status, result);
  return result;
}

void Session::run(const std::string &entry, nb::handle batch,
                  const nb::sequence &outputs) {
  Use use(*this);
  std::vector<Tensor> room;
  const std::vector<mpc_tensor_t> tensors = take(batch, inputs(entry), room);
  const std::vector<Binding> bindings = program_.outputs(entry);
  if (nb::len(outputs) != bindings.size())
    raise(MPC_INVALID_ARGUMENT, "expected an array or None for each output");
  std::vector<Tensor> written;
  std::vector<mpc_tensor_t> results;
  for (size_t i = 0; i < bindings.size(); ++i) {
    nb::object array = outputs[i];
    if (array.is_none())
      results.push_back({sizeof(mpc_tensor_t),
                         bindings[i].dtype,
                         0,
                         nullptr,
                         nullptr,
                         {MPC_DEVICE_HOST, 0}});
    else
      take_one(array, "output", bindings[i].key, bindings[i].dtype,
               Access::kWrite, written, results);
  }
  check(use.call(mpc_session_run, entry.c_str(), tensors.data(), tensors.size(),
                 results.data(), results.size()));
}

nb::tuple Session::evaluate_batch(nb::handle batch, size_t num_valid) {
  Use use(*this);
  std::vector<Tensor> room;
  const std::vector<mpc_tensor_t> tensors =
      take(batch, inputs("evaluate"), room);
  std::vector<double> parts(parts_);
  mpc_metrics_t sums = {};
  sums.struct_size = sizeof(sums);
  sums.part_sums = parts_ > 0 ? parts.data() : nullptr;
  sums.num_parts = parts_;
  check(use.call(mpc_session_evaluate, tensors.data(), tensors.size(),
                 num_valid, &sums));
  nb::list part_sums;
  for (double part : parts) part_sums.append(part);
  return nb::make_tuple(sums.loss_sum, sums.weight_sum, sums.samples,
                        sums.has_accuracy != 0, sums.correct, sums.counted,
                        part_sums);
}

//===----------------------------------------------------------------------===//
// States and checkpoints
//===----------------------------------------------------------------------===//

Tensor Session::take_state(const std::string &name, nb::handle array,
                           Access access) {
  auto state = states_.find(name);
  if (state == states_.end())
    raise(MPC_INVALID_ARGUMENT, "the program has no state '" + name + "'");
  std::vector<Tensor> room;
  std::vector<mpc_tensor_t> tensors;
  take_one(array, "state", nb::str(name.c_str()), state->second, access, room,
           tensors);
  return std::move(room.front());
}

void Session::read_state(const std::string &name, nb::handle array) {
  Use use(*this);
  const Tensor tensor = take_state(name, array, Access::kWrite);
  check(use.call(mpc_session_read_state, name.c_str(), &tensor.get()));
}

void Session::write_state(const std::string &name, nb::handle array) {
  Use use(*this);
  const Tensor tensor = take_state(name, array, Access::kRead);
  check(use.call(mpc_session_write_state, name.c_str(), &tensor.get()));
}

nb::object Session::state_memory(const std::string &name) {
  Use use(*this);
  mpc_tensor_t tensor = {};
  tensor.struct_size = sizeof(tensor);
  check(mpc_session_state_memory(session_.get(), name.c_str(), &tensor));
  if (tensor.dtype != MPC_DTYPE_F32 && tensor.dtype != MPC_DTYPE_F64)
    raise(MPC_INVALID_ARGUMENT, "state '" + name + "' is " +
                                    mpc_dtype_name(tensor.dtype) +
                                    "; only f32 and f64 can be lent");
  using Owner = std::shared_ptr<mpc_session_t>;
  const nb::capsule owner(new Owner(session_), [](void *kept) noexcept {
    delete static_cast<Owner *>(kept);
  });
  const std::vector<size_t> shape(tensor.shape, tensor.shape + tensor.rank);
  return nb::cast(nb::ndarray<nb::numpy>(
      tensor.data, shape.size(), shape.data(), owner, nullptr,
      tensor.dtype == MPC_DTYPE_F32 ? nb::dtype<float>()
                                    : nb::dtype<double>()));
}

nb::object Session::get_property(const std::string &name) {
  Use use(*this);
  const char *value = mpc_session_get_property(session_.get(), name.c_str());
  return value ? nb::object(nb::str(value)) : nb::none();
}

void Session::set_property(const std::string &name,
                           const std::optional<std::string> &value) {
  Use use(*this);
  check(mpc_session_set_property(session_.get(), name.c_str(),
                                 value ? value->c_str() : nullptr));
}

void Session::write_checkpoint(const std::string &path) {
  Use use(*this);
  check(use.call(mpc_session_save_checkpoint, path.c_str()));
}

void Session::read_checkpoint(const std::string &path) {
  Use use(*this);
  check(use.call(mpc_session_load_checkpoint, path.c_str()));
}

// Takes over a string of the C API.
static nb::object take_string(char *text) {
  if (!text) return nb::none();
  nb::object result = nb::str(text);
  mpc_string_free(text);
  return result;
}

nb::tuple Session::load_latest(const std::string &folder) {
  Use use(*this);
  char *path = nullptr, *warning = nullptr;
  check(use.call(mpc_session_load_latest, folder.c_str(), &path, &warning));
  nb::object loaded = take_string(path);
  return nb::make_tuple(loaded, take_string(warning));
}

//===----------------------------------------------------------------------===//
// Profiles
//===----------------------------------------------------------------------===//

void Session::start_profile(uint64_t timeline_calls) {
  Use use(*this);
  mpc_profile_options_t options = {};
  options.struct_size = sizeof(options);
  options.timeline_calls = timeline_calls;
  check(use.call(mpc_session_profile_start, &options));
}

nb::tuple Session::stop_profile() {
  Use use(*this);
  check(use.call(mpc_session_profile_stop));
  mpc_profile_info_t info = {};
  info.struct_size = sizeof(info);
  check(mpc_session_profile_info(session_.get(), &info));
  nb::list records;
  for (size_t i = 0; i < info.num_records; ++i) {
    mpc_profile_record_t record = {};
    record.struct_size = sizeof(record);
    check(mpc_session_profile_record(session_.get(), i, &record));
    const char *dtype = record.dtype ? mpc_dtype_name(record.dtype) : "";
    records.append(nb::make_tuple(
        static_cast<int>(record.kind), record.entry, record.instruction,
        record.kernel, record.implementation, dtype, record.calls,
        record.total_ns, record.min_ns, record.bytes, record.flops));
  }
  char *trace = nullptr;
  check(mpc_session_profile_trace(session_.get(), &trace));
  return nb::make_tuple(info.calls, info.total_ns, records, take_string(trace));
}

void bind_session(nb::module_ &module) {
  nb::class_<Session>(module, "Session")
      .def(nb::init<const Program &, const std::string &, uint32_t, bool,
                    uint64_t, bool, bool, bool, const Communicator *, uint32_t,
                    uint32_t>(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg())
      .def(
          "__init__",
          [](Session *self, const Trainer &trainer) {
            new (self) Session(trainer.program(), trainer.session(),
                               trainer.turns(), trainer.ranks());
          },
          "The session of a trainer, which alone may step it.")
      .def("step", &Session::step,
           nb::sig("def step(self, batch: typing.Any = ..., /, **inputs: "
                   "typing.Any) -> StepInfo"),
           "Trains on one batch; see mpc.Session.")
      .def("step_async", &Session::step_async,
           nb::sig("def step_async(self, batch: typing.Any = ..., /, **inputs: "
                   "typing.Any) -> StepFuture"),
           "Begins to train on one batch in another thread, and returns an "
           "mpc.StepFuture.\n\n"
           "Every other call of the session waits for the step. The arrays of "
           "the batch must not be written before the step is done.")
      .def("finish_update", &Session::finish_update,
           "Updates the weights with the batches since the last update, of a "
           "program that accumulates gradients.")
      .def("run", &Session::run)
      .def("evaluate_batch", &Session::evaluate_batch)
      .def("read_state", &Session::read_state, nb::arg(), nb::arg().none())
      .def("write_state", &Session::write_state, nb::arg(), nb::arg().none())
      .def("_state_memory", &Session::state_memory)
      .def("get_property", &Session::get_property)
      .def("set_property", &Session::set_property, nb::arg("name"),
           nb::arg("value").none())
      .def("write_checkpoint", &Session::write_checkpoint)
      .def("read_checkpoint", &Session::read_checkpoint)
      .def("load_latest", &Session::load_latest)
      .def("start_profile", &Session::start_profile)
      .def("stop_profile", &Session::stop_profile)
      .def("close", &Session::close)
      .def_prop_ro("device", &Session::device)
      .def_prop_ro("rank", &Session::rank,
                   "The number of this process among those that train the "
                   "program together, from 0.")
      .def_prop_ro("size", &Session::num_ranks,
                   "The number of processes that train the program together.")
      .def_prop_ro("closed", &Session::closed);
}

}  // namespace mpc::python
