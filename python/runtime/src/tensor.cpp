#include "python/runtime/src/tensor.h"

#include <type_traits>
#include <utility>

namespace mpc::python {

static_assert(std::is_same_v<Py_ssize_t, int64_t>,
              "shapes of buffers are passed on without a copy");

// Whether a format of the struct module means `dtype`. Sizes tell apart what
// platforms spell differently, such as 'l' and 'q'.
static bool matches(const char *format, Py_ssize_t size, mpc_dtype_t dtype,
                    bool bits) {
  if (static_cast<size_t>(size) != mpc_dtype_size(dtype)) return false;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (*format == 0 || format[1] != 0) return false;
  switch (dtype) {
    case MPC_DTYPE_F32:
      return *format == 'f';
    case MPC_DTYPE_F64:
      return *format == 'd';
    case MPC_DTYPE_F16:
      return *format == 'e';
    case MPC_DTYPE_I64:
    case MPC_DTYPE_I32:
      return *format == 'q' || *format == 'l' || *format == 'i';
    case MPC_DTYPE_U8:
      return *format == 'B';
    case MPC_DTYPE_BOOL:
      return *format == '?';
    case MPC_DTYPE_BF16:
      return bits && *format == 'H';
    case MPC_DTYPE_F8E4M3:
    case MPC_DTYPE_F8E5M2:
      return false;
  }
  return false;
}

static bool matches(nb::dlpack::dtype type, mpc_dtype_t dtype) {
  if (type.lanes != 1 || type.bits != 8 * mpc_dtype_size(dtype)) return false;
  using Code = nb::dlpack::dtype_code;
  switch (dtype) {
    case MPC_DTYPE_F32:
    case MPC_DTYPE_F64:
    case MPC_DTYPE_F16:
      return type.code == static_cast<uint8_t>(Code::Float);
    case MPC_DTYPE_BF16:
      return type.code == static_cast<uint8_t>(Code::Bfloat);
    case MPC_DTYPE_I64:
    case MPC_DTYPE_I32:
      return type.code == static_cast<uint8_t>(Code::Int);
    case MPC_DTYPE_U8:
      return type.code == static_cast<uint8_t>(Code::UInt);
    case MPC_DTYPE_BOOL:
      return type.code == static_cast<uint8_t>(Code::Bool);
    case MPC_DTYPE_F8E4M3:
    case MPC_DTYPE_F8E5M2:
      return false;
  }
  return false;
}

Tensor::Tensor(Tensor &&other) noexcept
    : tensor_(other.tensor_),
      buffer_(std::exchange(other.buffer_, {})),
      array_(std::move(other.array_)) {}

Tensor::~Tensor() {
  if (buffer_.obj) PyBuffer_Release(&buffer_);
}

bool Tensor::take(nb::handle array, mpc_dtype_t dtype, Access access,
                  bool bits) {
  return take_buffer(array, dtype, access, bits) ||
         take_dlpack(array, dtype, access);
}

bool Tensor::take_buffer(nb::handle array, mpc_dtype_t dtype, Access access,
                         bool bits) {
  if (!PyObject_CheckBuffer(array.ptr())) return false;
  const int flags = PyBUF_FORMAT | PyBUF_STRIDES |
                    (access == Access::kWrite ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(array.ptr(), &buffer_, flags) != 0) {
    PyErr_Clear();
    buffer_ = {};
    return false;
  }
  if (!buffer_.format ||
      !matches(buffer_.format, buffer_.itemsize, dtype, bits) ||
      !PyBuffer_IsContiguous(&buffer_, 'C')) {
    PyBuffer_Release(&buffer_);
    return false;
  }
  tensor_ = {sizeof(tensor_), dtype,       static_cast<uint32_t>(buffer_.ndim),
             buffer_.shape,   buffer_.buf, {MPC_DEVICE_HOST, 0}};
  return true;
}

bool Tensor::take_dlpack(nb::handle array, mpc_dtype_t dtype, Access access) {
  // A writable array converts to both.
  nb::ndarray<nb::ro> found;
  if (access == Access::kRead) {
    if (!nb::try_cast(array, found)) return false;
  } else {
    nb::ndarray<> writable;
    if (!nb::try_cast(array, writable)) return false;
    found = nb::ndarray<nb::ro>(writable);
  }
  if (!found.is_valid() || found.device_type() != nb::device::cpu::value ||
      !matches(found.dtype(), dtype))
    return false;
  int64_t dense = 1;
  for (size_t i = found.ndim(); i-- > 0; dense *= found.shape(i))
    if (found.shape(i) != 1 && found.stride(i) != dense) return false;
  array_ = std::move(found);
  tensor_ = {sizeof(tensor_),
             dtype,
             static_cast<uint32_t>(array_.ndim()),
             array_.shape_ptr(),
             const_cast<void *>(static_cast<const void *>(array_.data())),
             {MPC_DEVICE_HOST, 0}};
  return true;
}

}  // namespace mpc::python
