#include "python/runtime/src/dataset.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "python/runtime/src/errors.h"

namespace mpc::python {

static nb::dlpack::dtype numpy_type(mpc_dtype_t dtype) {
  using Code = nb::dlpack::dtype_code;
  auto make = [](Code code, uint8_t bits) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code), bits, 1};
  };
  switch (dtype) {
    case MPC_DTYPE_F32:
      return make(Code::Float, 32);
    case MPC_DTYPE_F64:
      return make(Code::Float, 64);
    case MPC_DTYPE_F16:
      return make(Code::Float, 16);
    case MPC_DTYPE_I64:
      return make(Code::Int, 64);
    case MPC_DTYPE_I32:
      return make(Code::Int, 32);
    case MPC_DTYPE_BOOL:
      return make(Code::Bool, 8);
    case MPC_DTYPE_BF16:
      return make(Code::UInt, 16);
    case MPC_DTYPE_U8:
    case MPC_DTYPE_F8E4M3:
    case MPC_DTYPE_F8E5M2:
      break;
  }
  return make(Code::UInt, 8);
}

// A NumPy array on memory of `owner`, which may be None: a view then.
static nb::object view(const mpc_tensor_t &tensor, void *data,
                       nb::handle owner) {
  const std::vector<size_t> shape(tensor.shape, tensor.shape + tensor.rank);
  return nb::cast(
      nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr,
                             numpy_type(tensor.dtype)),
      nb::rv_policy::reference);
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Dataset::Dataset(const Program &program, const TrainOptions &options) {
  held_->program = program;
  held_->messages = options.messages();
}

static const char *or_null(const std::optional<std::string> &text) {
  return text ? text->c_str() : nullptr;
}

Dataset Dataset::open(const Program &program,
                      const std::optional<std::string> &entry,
                      const std::string &path, const TrainOptions &options) {
  Dataset result(program, options);
  mpc_status_t status;
  {
    nb::gil_scoped_release unlocked;
    status = mpc_dataset_open(program.get(), or_null(entry), path.c_str(),
                              options.get(), &result.held_->dataset);
  }
  python::check(status);
  return result;
}

static mpc_dtype_t find_dtype(const std::string &name) {
  for (unsigned dtype = MPC_DTYPE_F32; dtype <= MPC_DTYPE_F8E5M2; ++dtype)
    if (name == mpc_dtype_name(static_cast<mpc_dtype_t>(dtype)))
      return static_cast<mpc_dtype_t>(dtype);
  raise(MPC_INTERNAL, "there is no type '" + name + "'");
}

Dataset Dataset::from_arrays(
    const Program &program, const std::optional<std::string> &entry,
    const std::vector<std::pair<std::string, nb::object>> &arrays,
    const std::vector<std::string> &dtypes, const TrainOptions &options) {
  Dataset result(program, options);
  std::vector<const char *> names;
  std::vector<mpc_tensor_t> tensors;
  result.held_->arrays.reserve(arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    Tensor &tensor = result.held_->arrays.emplace_back();
    if (!tensor.take(arrays[i].second, find_dtype(dtypes.at(i)), Access::kRead,
                     /*bits=*/true))
      raise(MPC_INTERNAL, "an array cannot be borrowed");
    names.push_back(arrays[i].first.c_str());
    tensors.push_back(tensor.get());
  }
  mpc_status_t status;
  {
    nb::gil_scoped_release unlocked;
    status = mpc_dataset_from_arrays(
        program.get(), or_null(entry), names.data(), tensors.data(),
        tensors.size(), options.get(), &result.held_->dataset);
  }
  python::check(status);
  return result;
}

// mpc_dataset_callbacks_t.read. Errors of Python travel beside the status.
static mpc_status_t read_samples(void *user, const uint64_t *samples,
                                 size_t num_samples,
                                 const mpc_tensor_t *tensors,
                                 size_t num_tensors) {
  auto *held = static_cast<Dataset::Held *>(user);
  nb::gil_scoped_acquire locked;
  try {
    nb::list numbers, arrays;
    for (size_t i = 0; i < num_samples; ++i) numbers.append(samples[i]);
    for (size_t i = 0; i < num_tensors; ++i)
      arrays.append(view(tensors[i], tensors[i].data, nb::none()));
    held->callback(numbers, arrays);
    return nullptr;
  } catch (nb::python_error &error) {
    held->error.emplace(std::move(error));
    return mpc_status_make(MPC_INVALID_ARGUMENT, "reading samples failed");
  } catch (const std::exception &error) {
    return mpc_status_make(MPC_INTERNAL, "reading samples: %s", error.what());
  }
}

void Dataset::Held::check(mpc_status_t status) {
  if (status && error) {
    mpc_status_free(status);
    nb::python_error raised = std::move(*error);
    error.reset();
    throw raised;
  }
  python::check(status);
}

Dataset Dataset::from_callback(const Program &program,
                               const std::optional<std::string> &entry,
                               uint64_t num_samples, nb::object read,
                               const TrainOptions &options) {
  Dataset result(program, options);
  result.held_->callback = std::move(read);
  mpc_dataset_callbacks_t callbacks = {};
  callbacks.struct_size = sizeof(callbacks);
  callbacks.user = result.held_.get();
  callbacks.num_samples = num_samples;
  callbacks.read = read_samples;
  mpc_status_t status;
  {
    nb::gil_scoped_release unlocked;
    status =
        mpc_dataset_from_callbacks(program.get(), or_null(entry), &callbacks,
                                   options.get(), &result.held_->dataset);
  }
  result.held_->check(status);
  return result;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

nb::list Dataset::read(const std::vector<uint64_t> &samples) {
  const mpc_tensor_t *tensors = nullptr;
  size_t num_tensors = 0;
  mpc_status_t status;
  {
    nb::gil_scoped_release unlocked;
    status = mpc_dataset_read(held_->dataset, samples.data(), samples.size(),
                              &tensors, &num_tensors);
  }
  held_->check(status);
  nb::list result;
  for (size_t i = 0; i < num_tensors; ++i)
    result.append(view(tensors[i], tensors[i].data, nb::none()).attr("copy")());
  return result;
}

void bind_dataset(nb::module_ &module) {
  nb::class_<Dataset>(module, "Dataset")
      .def_static("open", &Dataset::open, nb::arg("program"),
                  nb::arg("entry").none(), nb::arg("path"), nb::arg("options"))
      .def_static("from_arrays", &Dataset::from_arrays, nb::arg("program"),
                  nb::arg("entry").none(), nb::arg("arrays"), nb::arg("dtypes"),
                  nb::arg("options"))
      .def_static("from_callback", &Dataset::from_callback, nb::arg("program"),
                  nb::arg("entry").none(), nb::arg("num_samples"),
                  nb::arg("read"), nb::arg("options"))
      .def("read", &Dataset::read)
      .def_prop_ro("num_samples", &Dataset::num_samples)
      .def_prop_ro("batch_size", &Dataset::batch_size);
}

}  // namespace mpc::python
