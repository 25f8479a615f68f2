// Runs kernels on generated operands and compares the results, with error
// bounds derived from how the kernels compute.

#ifndef MPC_TEST_KERNELS_HARNESS_H_
#define MPC_TEST_KERNELS_HARNESS_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace mpc::kernels::testing {

using Shape = std::vector<int64_t>;

// Memory with the alignment that kernels expect, and a guard after its end.
class Buffer {
 public:
  explicit Buffer(size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&&) = delete;

  void* data() const { return data_; }
  size_t size() const { return bytes_; }
  // Whether no kernel has written after the end.
  bool intact() const;
  bool operator==(const Buffer& other) const;

 private:
  unsigned char* data_;
  size_t bytes_;
};

Buffer make_tensor(const TensorDesc& desc, const std::vector<double>& values);
std::vector<double> values_of(const TensorDesc& desc, const Buffer& buffer);
size_t element_count(const TensorDesc& desc);

// Multiples of 1/8 in -4..4 from the generator that test/kernels/goldens also
// uses; exact in every float type. Different for each operand.
std::vector<double> eighths(int operand, size_t count);
// Values evenly distributed in -1..1.
std::vector<double> uniform(int seed, size_t count);

// Indices for embedding and embedding_grad: in range, including negative and
// many equal ones.
std::vector<double> indices_for(const KernelDesc& desc);

// Inputs come first in a description.
size_t input_count(const KernelDesc& desc);

// Operands with values in the inputs and garbage in the outputs.
std::vector<Buffer> make_operands(const KernelDesc& desc,
                                  const std::vector<std::vector<double>>& in);
// Runs the kernel; fails the test if that fails or writes outside the outputs.
void run(const Kernel& kernel, const std::vector<Buffer>& operands);

// The same description with all float types replaced by f64.
KernelDesc in_f64(KernelDesc desc);
// The results of the reference for f64 inputs: the values of each output.
std::vector<std::vector<double>> exact(
    const KernelDesc& desc, const std::vector<std::vector<double>>& in);

// Half a unit in the last place of a type, as a relative error.
double roundoff(mpc_dtype_t dtype);

// Runs the kernel, made for each context, on uniform values that its input
// types can represent, and expects the error of every output to be at most
//   2 (terms + 2) u_sum sum|a||b| + u_out |exact|
// where sum|a||b| is the same call on absolute values, and u_sum is the
// roundoff of f32 (of f64 for f64).
void expect_close(const KernelDesc& desc, const std::vector<Context>& contexts,
                  int terms);
void expect_reference_close(const KernelDesc& desc, int terms);
// The same for a kernel that was made elsewhere.
void expect_kernel_close(const KernelDesc& desc, const Kernel& kernel,
                         int terms);

// Makes the kernel, or fails the test with the reason.
std::unique_ptr<Kernel> must_make(const KernelDesc& desc,
                                  const Context& context);

// A printable form, for SCOPED_TRACE.
std::string describe(const KernelDesc& desc, const Context& context);

// Makers of descriptions, which infer the shapes of results.
struct ConvCase {
  int64_t batch, inputs, outputs;
  Shape image, kernel, strides, dilations, pads_begin, pads_end;
  int64_t group = 1;
};
int64_t result_extent(int64_t input, int64_t kernel, int64_t stride,
                      int64_t dilation, int64_t pads);
KernelDesc conv_desc(KernelId id, const ConvCase& c, bool channels_last,
                     mpc_dtype_t dtype, mpc_dtype_t result);
// The number of products that one element of the result sums.
int conv_terms(KernelId id, const ConvCase& c);
struct EmbeddingCase {
  Shape table, indices;
};
KernelDesc embedding_desc(KernelId id, const EmbeddingCase& c,
                          mpc_dtype_t dtype, mpc_dtype_t index);
struct RecurrentCase {
  int64_t steps, batch, hidden;
};
// `dtype` is the type of the weights.
KernelDesc recurrent_desc(KernelId id, const RecurrentCase& c, bool reverse,
                          mpc_dtype_t dtype);
// `inputs` is the number of channels; `outputs` and `group` are not used.
KernelDesc pool_desc(KernelId id, const ConvCase& c, bool channels_last,
                     bool count_include_pad, mpc_dtype_t dtype);

}  // namespace mpc::kernels::testing

#endif  // MPC_TEST_KERNELS_HARNESS_H_
