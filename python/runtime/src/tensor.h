// The memory of a Python array, lent to calls of the C API.

#ifndef MPC_PYTHON_RUNTIME_SRC_TENSOR_H_
#define MPC_PYTHON_RUNTIME_SRC_TENSOR_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "mpc/tensor.h"

namespace mpc::python {

namespace nb = nanobind;

enum class Access { kRead, kWrite };

// Keeps the array's memory in place until it is destroyed.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Tensor &&other) noexcept;
  Tensor &operator=(Tensor &&) = delete;
  ~Tensor();

  // Borrows `array` through the buffer protocol or DLPack, without a copy.
  // Returns false, and borrows nothing, if its elements are not `dtype` in host
  // memory, dense and row-major. `bits` are the elements of a bf16 array as
  // unsigned integers, because neither NumPy's buffers nor its DLPack know it.
  bool take(nb::handle array, mpc_dtype_t dtype, Access access,
            bool bits = false);

  const mpc_tensor_t &get() const { return tensor_; }

 private:
  bool take_buffer(nb::handle array, mpc_dtype_t dtype, Access access,
                   bool bits);
  bool take_dlpack(nb::handle array, mpc_dtype_t dtype, Access access);

  mpc_tensor_t tensor_ = {};
  Py_buffer buffer_ = {};      // `obj` is NULL unless a buffer is borrowed.
  nb::ndarray<nb::ro> array_;  // Only its reference counts.
};

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_TENSOR_H_
