// Calls of oneDNN primitives with minimal overhead.

#ifndef MPC_KERNELS_CPU_DNNL_DNNL_KERNEL_H_
#define MPC_KERNELS_CPU_DNNL_DNNL_KERNEL_H_

#include <dnnl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dnnl/dnnl_memory.h"

namespace mpc::kernels::cpu {

dnnl::memory::data_type dnnl_type(mpc_dtype_t dtype);

// Makes primitives use scratch memory of the caller.
dnnl::primitive_attr user_scratchpad();

// Where an argument lies: in an operand or, for kScratch, in scratch memory; in
// bytes. Piece i of a kernel uses offset + i * stride.
struct Slot {
  static constexpr int kScratch = -1;
  int operand;
  size_t offset = 0;
  size_t stride = 0;
};

void* address_of(Slot slot, void* const* operands, void* scratch, size_t piece);

// Hands out scratch memory.
class ScratchLayout {
 public:
  // One region that all pieces share.
  Slot add(size_t bytes) { return {Slot::kScratch, reserve(bytes, 1), 0}; }
  // One region for each piece.
  Slot add_pieces(size_t bytes, size_t count) {
    return {Slot::kScratch, reserve(bytes, count), aligned(bytes)};
  }
  size_t size() const { return size_; }

 private:
  static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
  size_t reserve(size_t bytes, size_t count) {
    const size_t offset = size_;
    size_ += aligned(bytes) * count;
    return offset;
  }

  size_t size_ = 0;
};

// A part of a kernel that only one thread calls at a time.
class PieceCall {
 public:
  virtual ~PieceCall() = default;
  virtual bool run(void* const* operands, void* scratch, size_t piece) = 0;
};

// Makes a primitive. If memory runs out and an exception passes through oneDNN,
// oneDNN is not used again.
template <typename Primitive>
Primitive make_primitive(
    const typename Primitive::primitive_desc& description) {
  try {
    return Primitive(description);
  } catch (const std::bad_alloc&) {
    set_dnnl_damaged();
    throw;
  }
}

// A primitive with its argument array. Memory objects are created once; a run
// only sets their addresses, and only those that have changed: they are usually
// the same in every step, and oneDNN zeroes the padding of a memory object
// whose address changes.
class DnnlCall final : public PieceCall {
 public:
  DnnlCall(const dnnl::engine& engine, const dnnl::primitive& primitive)
      : engine_(engine), stream_(engine), primitive_(primitive) {}
  // A copy would share the memory objects.
  DnnlCall(const DnnlCall&) = delete;
  DnnlCall& operator=(const DnnlCall&) = delete;
  DnnlCall(DnnlCall&&) = default;
  DnnlCall& operator=(DnnlCall&&) = default;

  void bind(int argument, const dnnl::memory::desc& desc, Slot slot);
  // Binds scratch memory if the primitive needs any.
  void bind_scratchpad(const dnnl::memory::desc& desc, ScratchLayout* layout);
  bool run(void* const* operands, void* scratch, size_t piece = 0) override;

 private:
  struct Argument {
    dnnl::memory memory;
    Slot slot;
    void* address;
  };

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  std::vector<dnnl_exec_arg_t> c_arguments_;
};

// How a dimension is cut: `count` pieces of `size`, then one of `rest` if that
// is not 0. Depends on the shape alone.
struct Cut {
  int64_t size, count, rest;
  int64_t total() const { return count + (rest != 0); }
};
Cut cut(int64_t extent, int64_t granularity, double work);

// Partial results of the pieces, f32, which are added in order.
struct PartialSums {
  Slot partials;
  Slot result;
  int64_t count;  // Elements of each partial result.
};

// Runs prepare, then the main call, whole or in pieces, then sum, then finish.
//
// A kernel in one piece uses all its threads inside the primitive. The way
// oneDNN splits a sum then depends on their number. A kernel in several pieces
// runs each on one thread, several at a time: the pieces are fixed when the
// kernel is made, so the bits do not depend on the number of threads.
class DnnlKernel final : public Kernel {
 public:
  std::string implementation() const override { return name; }
  size_t scratch_bytes() const override { return layout.size(); }
  bool run(void* const* operands, void* scratch) const override;

  // Adds as many calls of a full piece as can run at a time. Primitives must be
  // made inside ThreadScope(inner_threads).
  template <typename MakeCall>
  void add_workers(const Cut& cut, MakeCall&& make_call) {
    pieces = static_cast<size_t>(cut.count);
    piece_threads =
        static_cast<int>(std::min<int64_t>(piece_threads, cut.total()));
    for (int i = 0; i < piece_threads; ++i) workers.push_back(own(make_call()));
  }
  template <typename Call>
  static std::unique_ptr<PieceCall> own(Call call) {
    return std::make_unique<Call>(std::move(call));
  }
  // Uses `threads` for running pieces at the same time or inside each piece.
  void set_threads(int threads, bool deterministic) {
    inner_threads = outer_threads = deterministic ? 1 : threads;
    piece_threads = deterministic ? threads : 1;
  }

  std::string name;
  // Threads inside a piece, for several pieces at a time, and before and after
  // the pieces.
  int inner_threads = 1, piece_threads = 1, outer_threads = 1;
  ScratchLayout layout;
  std::vector<std::unique_ptr<PieceCall>> prepare;
  // One per thread, because calls store addresses.
  std::vector<std::unique_ptr<PieceCall>> workers;
  size_t pieces = 1;
  // The last piece, if it needs a call of its own.
  std::unique_ptr<PieceCall> tail;
  std::optional<PartialSums> sum;
  std::unique_ptr<PieceCall> finish;

 private:
  bool run_pieces(void* const* operands, void* scratch) const;
};

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_DNNL_DNNL_KERNEL_H_
