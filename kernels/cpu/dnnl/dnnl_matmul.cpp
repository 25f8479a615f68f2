// Products of 16-bit matrices by oneDNN, with the CPU's instructions for them.

#include "kernels/cpu/dnnl/dnnl_describe.h"
#include "kernels/cpu/dnnl/dnnl_kernel.h"
#include "kernels/cpu/matmul.h"

namespace mpc::kernels::cpu {
namespace {

using dnnl::memory;

// A whole product or a piece of one: extents are those of the piece, strides
// those of the full operands.
struct Product {
  memory::dims lhs, rhs, result;
  memory::dims lhs_strides, rhs_strides, result_strides;
  memory::data_type type, result_type;

  dnnl::matmul::primitive_desc make(const dnnl::engine& engine) const {
    return describe<dnnl::matmul>(
        engine, user_scratchpad(), memory::desc(lhs, type, lhs_strides),
        memory::desc(rhs, type, rhs_strides),
        memory::desc(result, result_type, result_strides));
  }
};

Product whole_product(const MatmulShape& s) {
  const size_t rank = s.batch.size() + 2;
  Product p;
  p.type = dnnl_type(s.dtype);
  p.result_type = dnnl_type(s.result_dtype);
  p.lhs = p.rhs = p.result = memory::dims(rank, 1);
  p.lhs_strides = p.rhs_strides = p.result_strides = memory::dims(rank, 1);
  int64_t lhs = s.m * s.k, rhs = s.k * s.n, result = s.m * s.n;
  for (size_t i = s.batch.size(); i-- > 0;) {
    const BatchDim& dim = s.batch[i];
    p.lhs_strides[i] = lhs;
    p.rhs_strides[i] = rhs;
    p.result_strides[i] = result;
    p.result[i] = dim.extent;
    result *= dim.extent;
    if (dim.in_lhs) lhs *= p.lhs[i] = dim.extent;
    if (dim.in_rhs) rhs *= p.rhs[i] = dim.extent;
  }
  const size_t row = rank - 2, column = rank - 1;
  p.lhs[row] = p.result[row] = s.m;
  p.lhs[column] = p.rhs[row] = s.k;
  p.rhs[column] = p.result[column] = s.n;
  p.lhs_strides[row] = s.transpose_lhs ? 1 : s.k;
  p.lhs_strides[column] = s.transpose_lhs ? s.m : 1;
  p.rhs_strides[row] = s.transpose_rhs ? 1 : s.n;
  p.rhs_strides[column] = s.transpose_rhs ? s.k : 1;
  p.result_strides[row] = s.n;
  return p;
}

// The dimension of the result along which pieces are cut: the first of the
// batch if it is long enough, else rows or columns, whichever are more.
size_t cut_dimension(const Product& p) {
  const size_t row = p.result.size() - 2;
  if (row > 0 && p.result[0] >= 8) return 0;
  return p.result[row] >= p.result[row + 1] ? row : row + 1;
}

// Operand slots with the stride between pieces of `size` along `dim`.
struct PieceSlots {
  Slot lhs{0}, rhs{1}, result{2};
};

PieceSlots piece_slots(const Product& p, size_t dim, int64_t size) {
  const size_t row = p.result.size() - 2, column = row + 1;
  const size_t element = memory::data_type_size(p.type);
  PieceSlots slots;
  slots.result.stride =
      size * p.result_strides[dim] * memory::data_type_size(p.result_type);
  if (dim == row || (dim < row && p.lhs[dim] != 1))
    slots.lhs.stride = size * p.lhs_strides[dim] * element;
  if (dim == column || (dim < row && p.rhs[dim] != 1))
    slots.rhs.stride = size * p.rhs_strides[dim] * element;
  return slots;
}

Product resized(Product p, size_t dim, int64_t size) {
  const size_t row = p.result.size() - 2, column = row + 1;
  p.result[dim] = size;
  if (dim == row || (dim < row && p.lhs[dim] != 1)) p.lhs[dim] = size;
  if (dim == column || (dim < row && p.rhs[dim] != 1)) p.rhs[dim] = size;
  return p;
}

DnnlCall make_call(const dnnl::engine& engine,
                   const dnnl::matmul::primitive_desc& pd,
                   const PieceSlots& slots, ScratchLayout* layout) {
  DnnlCall call(engine, make_primitive<dnnl::matmul>(pd));
  call.bind(DNNL_ARG_SRC, pd.src_desc(), slots.lhs);
  call.bind(DNNL_ARG_WEIGHTS, pd.weights_desc(), slots.rhs);
  call.bind(DNNL_ARG_DST, pd.dst_desc(), slots.result);
  call.bind_scratchpad(pd.scratchpad_desc(), layout);
  return call;
}

}  // namespace

std::unique_ptr<Kernel> make_dnnl_matmul(const MatmulShape& shape, int threads,
                                         bool deterministic) {
  const Product whole = whole_product(shape);
  auto kernel = std::make_unique<DnnlKernel>();
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  kernel->set_threads(threads, deterministic);
  const size_t dim = cut_dimension(whole);
  const size_t row = whole.result.size() - 2;
  // Pieces are multiples of the tiles of oneDNN's micro-kernels.
  const int64_t granularity = dim < row ? 1 : dim == row ? 32 : 64;
  const Cut pieces = deterministic ? cut(whole.result[dim], granularity,
                                         multiply_adds(shape) * 2)
                                   : Cut{whole.result[dim], 1, 0};

  const ThreadScope scope(kernel->inner_threads);
  const PieceSlots slots = piece_slots(whole, dim, pieces.size);
  const auto pd = resized(whole, dim, pieces.size).make(engine);
  kernel->name = pd.impl_info_str();
  kernel->add_workers(
      pieces, [&] { return make_call(engine, pd, slots, &kernel->layout); });
  if (pieces.rest != 0)
    kernel->tail = DnnlKernel::own(
        make_call(engine, resized(whole, dim, pieces.rest).make(engine), slots,
                  &kernel->layout));
  return kernel;
}

}  // namespace mpc::kernels::cpu
