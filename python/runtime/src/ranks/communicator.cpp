#include "python/runtime/src/ranks/communicator.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <utility>
#include <vector>

#include "python/runtime/src/errors.h"
#include "python/runtime/src/steps/worker.h"

namespace mpc::python {

//===----------------------------------------------------------------------===//
// Functions for sessions
//===----------------------------------------------------------------------===//

// "RuntimeError: connection closed".
static std::string describe_error(nb::handle error) {
  try {
    const std::string type =
        nb::cast<std::string>(error.type().attr("__name__"));
    const std::string text = nb::cast<std::string>(nb::str(error));
    return text.empty() ? type : type + ": " + text;
  } catch (const std::exception &) {
    PyErr_Clear();
    return "an exception without a text";
  }
}

// An array on `data`. Its owner is None, so that it is a view.
static nb::object view_of(void *data, size_t count, mpc_dtype_t dtype) {
  const size_t shape[] = {count};
  const nb::dlpack::dtype type = dtype == MPC_DTYPE_F32 ? nb::dtype<float>()
                                 : dtype == MPC_DTYPE_F64
                                     ? nb::dtype<double>()
                                     : nb::dtype<uint8_t>();
  return nb::cast(
      nb::ndarray<nb::numpy>(data, 1, shape, nb::none(), nullptr, type),
      nb::rv_policy::reference);
}

// No exception leaves it: the caller is C.
mpc_status_t Ranks::call_python(const nb::object &function, void *data,
                                mpc_dtype_t dtype, const uint64_t *offsets,
                                void *received) {
  nb::gil_scoped_acquire locked;
  error_.reset();
  try {
    nb::list places;
    for (uint32_t i = 0; i <= functions_.size; ++i) places.append(offsets[i]);
    const nb::object array = view_of(data, offsets[functions_.size], dtype);
    if (!received) {
      function(array, places);
      return nullptr;
    }
    const uint32_t rank = functions_.rank;
    const size_t own = offsets[rank + 1] - offsets[rank];
    function(array, places, view_of(received, own * functions_.size, dtype));
    return nullptr;
  } catch (nb::python_error &raised) {
    error_ = nb::borrow(raised.value());
    return mpc_status_make(MPC_RANK_LOST, "the communicator failed: %s",
                           describe_error(error_).c_str());
  } catch (const std::exception &other) {
    return mpc_status_make(MPC_INTERNAL, "the communicator failed: %s",
                           other.what());
  }
}

struct Ranks::Calls {
  static mpc_status_t closed() {
    return mpc_status_make(MPC_RANK_LOST, "the communicator is closed");
  }
  static mpc_status_t reduce_scatter(void *user, void *data,
                                     const uint64_t *offsets,
                                     mpc_dtype_t dtype) {
    Ranks &self = *static_cast<Ranks *>(user);
    std::lock_guard<std::mutex> lock(self.mutex_);
    if (self.is_closed_) return closed();
    if (self.opened_)
      return self.opened_->reduce_scatter(self.opened_->user, data, offsets,
                                          dtype);
    return self.call_python(self.reduce_scatter_, data, dtype, offsets);
  }
  static mpc_status_t all_gather(void *user, void *data,
                                 const uint64_t *offsets) {
    Ranks &self = *static_cast<Ranks *>(user);
    std::lock_guard<std::mutex> lock(self.mutex_);
    if (self.is_closed_) return closed();
    if (self.opened_)
      return self.opened_->all_gather(self.opened_->user, data, offsets);
    return self.call_python(self.all_gather_, data, MPC_DTYPE_U8, offsets);
  }
  static mpc_status_t all_to_all(void *user, const void *data,
                                 const uint64_t *offsets, void *received) {
    Ranks &self = *static_cast<Ranks *>(user);
    std::lock_guard<std::mutex> lock(self.mutex_);
    if (self.is_closed_) return closed();
    if (self.opened_)
      return self.opened_->all_to_all(self.opened_->user, data, offsets,
                                      received);
    return self.call_python(self.all_to_all_, const_cast<void *>(data),
                            MPC_DTYPE_U8, offsets, received);
  }
  // Without the mutex, because a call may wait for another rank.
  static void abort(void *user, const char *reason) {
    Ranks &self = *static_cast<Ranks *>(user);
    if (self.is_closed_) return;
    if (self.opened_) return self.opened_->abort(self.opened_->user, reason);
    nb::gil_scoped_acquire locked;
    try {
      self.abort_(nb::str(reason));
    } catch (nb::python_error &raised) {
      raised.discard_as_unraisable("mpc: a communicator's abort()");
    }
  }
};

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

void Ranks::describe(uint32_t rank, uint32_t size) {
  functions_.struct_size = sizeof(functions_);
  functions_.user = this;
  functions_.rank = rank;
  functions_.size = size;
  functions_.reduce_scatter = Calls::reduce_scatter;
  functions_.all_gather = Calls::all_gather;
  functions_.all_to_all = Calls::all_to_all;
  functions_.abort = Calls::abort;
}

Ranks::Ranks(mpc_communicator_t *opened)
    : any_thread_(opened->any_thread != 0), opened_(opened) {
  describe(opened->rank, opened->size);
  functions_.any_thread = opened->any_thread;
}

Ranks::Ranks(uint32_t rank, uint32_t size, bool any_thread,
             nb::object reduce_scatter, nb::object all_gather,
             nb::object all_to_all, nb::object abort)
    : any_thread_(any_thread),
      reduce_scatter_(std::move(reduce_scatter)),
      all_gather_(std::move(all_gather)),
      all_to_all_(std::move(all_to_all)),
      abort_(std::move(abort)) {
  // A thread that computes would compete for the GIL with one that adds up.
  describe(rank, size);
}

Ranks::~Ranks() {
  // A forked process must not end what its parent uses.
  if (opened_ && getpid() == process_) mpc_communicator_close(opened_);
}

void Ranks::require_open() const {
  if (getpid() != process_)
    raise(MPC_INVALID_ARGUMENT, "the communicator belongs to process " +
                                    std::to_string(process_) +
                                    " and cannot be used in a forked one");
  if (is_closed_)
    raise(MPC_INVALID_ARGUMENT,
          "the communicator is closed; close it after the sessions that use "
          "it");
}

void Ranks::close() {
  if (is_closed_ || getpid() != process_) return;
  {
    nb::gil_scoped_release unlocked;
    mpc_communicator_t *opened;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_closed_ = true;
      opened = std::exchange(opened_, nullptr);
    }
    mpc_communicator_close(opened);
  }
  reduce_scatter_.reset();
  all_gather_.reset();
  all_to_all_.reset();
  abort_.reset();
}

nb::object Ranks::make_error(mpc_code_t code,
                             const std::string &message) const {
  nb::object error = python::make_error(code, message);
  if (code == MPC_RANK_LOST && error_.is_valid())
    error.attr("__cause__") = error_;
  return error;
}

void check(mpc_status_t status, const std::shared_ptr<Ranks> &ranks) {
  if (!status || !ranks) return check(status);
  const mpc_code_t code = mpc_status_code(status);
  const std::string message = mpc_status_message(status);
  mpc_status_free(status);
  raise_object(ranks->make_error(code, message));
}

//===----------------------------------------------------------------------===//
// Communicator
//===----------------------------------------------------------------------===//

Communicator::Communicator(uint32_t timeout_seconds) {
  mpc_communicator_t *opened = nullptr;
  mpc_status_t status;
  {
    nb::gil_scoped_release unlocked;
    status = mpc_communicator_open(timeout_seconds, &opened);
  }
  check(status);
  ranks_ = std::make_shared<Ranks>(opened);
}

Communicator::Communicator(uint32_t rank, uint32_t size, bool any_thread,
                           nb::object reduce_scatter, nb::object all_gather,
                           nb::object all_to_all, nb::object abort)
    : ranks_(std::make_shared<Ranks>(
          rank, size, any_thread, std::move(reduce_scatter),
          std::move(all_gather), std::move(all_to_all), std::move(abort))) {}

std::vector<uint64_t> Communicator::gather_numbers(uint64_t own) const {
  ranks_->require_open();
  std::vector<uint64_t> numbers(size()), offsets;
  for (uint32_t i = 0; i <= size(); ++i)
    offsets.push_back(i * sizeof(uint64_t));
  numbers[rank()] = own;
  all_gather(numbers.data(), offsets);
  return numbers;
}

void Communicator::all_gather(void *data,
                              const std::vector<uint64_t> &offsets) const {
  const mpc_communicator_t &functions = ranks_->functions();
  mpc_status_t status;
  {
    nb::gil_scoped_release unlocked;
    status = functions.all_gather(functions.user, data, offsets.data());
  }
  check(status, ranks_);
}

nb::list Communicator::gather_number(uint64_t own) const {
  nb::list result;
  for (uint64_t number : gather_numbers(own)) result.append(number);
  return result;
}

nb::list Communicator::gather(const nb::bytes &own) const {
  const std::vector<uint64_t> sizes = gather_numbers(own.size());
  std::vector<uint64_t> offsets = {0};
  for (uint64_t size : sizes) offsets.push_back(offsets.back() + size);
  std::vector<char> all(offsets.back());
  if (own.size() > 0)
    std::memcpy(all.data() + offsets[rank()], own.data(), own.size());
  if (!all.empty()) all_gather(all.data(), offsets);
  nb::list result;
  for (uint32_t i = 0; i < size(); ++i)
    result.append(nb::bytes(all.data() + offsets[i], sizes[i]));
  return result;
}

void Communicator::abort(const std::string &reason) const {
  ranks_->require_open();
  nb::gil_scoped_release unlocked;
  ranks_->functions().abort(ranks_->functions().user, reason.c_str());
}

void bind_communicator(nb::module_ &module) {
  module.def("launched_ranks", [] {
    uint32_t rank = 0;
    const uint32_t size = mpc_launched_ranks(&rank);
    return nb::make_tuple(rank, size);
  });
  // Steps in other threads call functions of Python, for which they need an
  // interpreter.
  module.def("wait_for_steps", wait_for_steps,
             nb::call_guard<nb::gil_scoped_release>());
  nb::class_<Communicator>(module, "Communicator")
      .def(nb::init<uint32_t>(), "All ranks that a launcher has started.")
      .def(nb::init<uint32_t, uint32_t, bool, nb::object, nb::object,
                    nb::object, nb::object>())
      .def("gather", &Communicator::gather)
      .def("gather_number", &Communicator::gather_number)
      .def("abort", &Communicator::abort, nb::arg("reason"),
           "Ends the other ranks, which cannot continue without this one.")
      .def("close", [](const Communicator &self) { self.ranks()->close(); })
      .def_prop_ro("rank", &Communicator::rank)
      .def_prop_ro("size", &Communicator::size)
      .def_prop_ro("closed", [](const Communicator &self) {
        return self.ranks()->is_closed();
      });
}

}  // namespace mpc::python
