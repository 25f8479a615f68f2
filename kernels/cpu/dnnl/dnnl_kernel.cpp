#include "kernels/cpu/dnnl/dnnl_kernel.h"

#include <atomic>
#include <exception>

namespace mpc::kernels::cpu {
namespace {

// The work of a piece should exceed the cost of its call by far, and there
// should be few partial sums of the weights.
constexpr double kFlopsPerPiece = 4e6;
constexpr int64_t kMaxPieces = 16;

// result = partial 0 + partial 1 + ...
void add_partials(const float* partials, size_t stride, size_t count,
                  int64_t begin, int64_t end, float* result) {
  const float* second = partials + stride;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) result[i] = partials[i] + second[i];
  for (size_t p = 2; p < count; ++p) {
    const float* next = partials + p * stride;
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) result[i] += next[i];
  }
}

void run_sum(const PartialSums& sum, size_t pieces, int threads,
             void* const* operands, void* scratch) {
  const float* partials =
      static_cast<float*>(address_of(sum.partials, operands, scratch, 0));
  float* result =
      static_cast<float*>(address_of(sum.result, operands, scratch, 0));
  const size_t stride = sum.partials.stride / sizeof(float);
  // A block of the result stays in the L1 cache while all pieces are added.
  constexpr int64_t kBlock = 4096;
  const int64_t blocks = (sum.count + kBlock - 1) / kBlock;
  const int wanted =
      threads_for(static_cast<double>(sum.count * pieces), 1 << 16, threads);
  parallel(wanted, [&](int part, int parts) {
    const Range mine = share(blocks, part, parts);
    for (int64_t b = mine.begin; b < mine.end; ++b)
      add_partials(partials, stride, pieces, b * kBlock,
                   std::min(sum.count, (b + 1) * kBlock), result);
  });
}

}  // namespace

void* address_of(Slot slot, void* const* operands, void* scratch,
                 size_t piece) {
  void* base =
      slot.operand == Slot::kScratch ? scratch : operands[slot.operand];
  return static_cast<char*>(base) + slot.offset + slot.stride * piece;
}

dnnl::memory::data_type dnnl_type(mpc_dtype_t dtype) {
  switch (dtype) {
    case MPC_DTYPE_F32:
      return dnnl::memory::data_type::f32;
    case MPC_DTYPE_BF16:
      return dnnl::memory::data_type::bf16;
    default:
      return dnnl::memory::data_type::undef;
  }
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void DnnlCall::bind(int argument, const dnnl::memory::desc& desc, Slot slot) {
  arguments_.push_back(
      {dnnl::memory(desc, engine_, DNNL_MEMORY_NONE), slot, nullptr});
  c_arguments_.push_back({argument, arguments_.back().memory.get()});
}

void DnnlCall::bind_scratchpad(const dnnl::memory::desc& desc,
                               ScratchLayout* layout) {
  if (desc.get_size() != 0)
    bind(DNNL_ARG_SCRATCHPAD, desc, layout->add(desc.get_size()));
}

bool DnnlCall::run(void* const* operands, void* scratch, size_t piece) {
  for (Argument& argument : arguments_) {
    void* address = address_of(argument.slot, operands, scratch, piece);
    if (address == argument.address) continue;
    if (dnnl_memory_set_data_handle(argument.memory.get(), address) !=
        dnnl_success)
      return false;
    argument.address = address;
  }
  // It allocates, and throws if memory runs out. An exception that leaves a
  // parallel region would end the program.
  try {
    return dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                  static_cast<int>(c_arguments_.size()),
                                  c_arguments_.data()) == dnnl_success;
  } catch (const std::exception&) {
    return false;
  }
}

bool DnnlKernel::run(void* const* operands, void* scratch) const {
  const ThreadScope outer(outer_threads);
  for (const std::unique_ptr<PieceCall>& call : prepare)
    if (!call->run(operands, scratch, 0)) return false;
  {
    const ThreadScope inner(inner_threads);
    if (!run_pieces(operands, scratch)) return false;
  }
  if (sum)
    run_sum(*sum, pieces + (tail != nullptr), piece_threads, operands, scratch);
  return !finish || finish->run(operands, scratch, 0);
}

bool DnnlKernel::run_pieces(void* const* operands, void* scratch) const {
  const int64_t total = static_cast<int64_t>(pieces + (tail != nullptr));
  if (total == 1) return workers[0]->run(operands, scratch, 0);
  std::atomic<bool> ok{true};
  // Inside the region oneDNN runs on one thread, for which the primitives were
  // made.
  parallel(piece_threads, [&](int thread, int threads) {
    const Range mine = share(total, thread, threads);
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      const size_t piece = static_cast<size_t>(i);
      PieceCall& call = piece == pieces ? *tail : *workers[thread];
      if (!call.run(operands, scratch, piece)) ok = false;
    }
  });
  return ok;
}

Cut cut(int64_t extent, int64_t granularity, double work) {
  const int64_t wanted = static_cast<int64_t>(
      std::clamp(work / kFlopsPerPiece, 1.0, static_cast<double>(kMaxPieces)));
  const int64_t units = (extent + granularity - 1) / granularity;
  const int64_t size =
      std::min(extent, (units + wanted - 1) / wanted * granularity);
  return {size, extent / size, extent % size};
}

}  // namespace mpc::kernels::cpu
