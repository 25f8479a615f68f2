// Rows of a table by index, and the gradient of the table (embedding.cu).

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/kernels/embedding_params.h"
#include "kernels/cuda/shared.h"

namespace mpc::kernels {
namespace {

constexpr int64_t kMaxGridX = int64_t{1} << 30, kMaxGridY = 65535;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Number of threads that share a row of `pieces`.
int32_t lanes_for(int64_t pieces) {
  int32_t lanes = 1;
  while (lanes < 32 && lanes < pieces) lanes *= 2;
  return lanes;
}

std::string start(const cuda::Driver& driver, cuda::CUfunction function,
                  int64_t grid_x, int64_t grid_y, cuda::CUstream stream,
                  void** parameters) {
  const cuda::CUresult result = driver.cuLaunchKernel(
      function, static_cast<unsigned>(std::min(grid_x, kMaxGridX)),
      static_cast<unsigned>(std::min(grid_y, kMaxGridY)), 1, kBlockThreads, 1,
      1, 0, stream, parameters, nullptr);
  if (result == cuda::CUDA_SUCCESS) return "";
  return describe_error(driver, "cuLaunchKernel", result);
}

class CudaEmbedding final : public CudaKernel {
 public:
  CudaEmbedding(const CudaContext& context, std::string name,
                cuda::CUfunction function, const EmbeddingParams& params)
      : context_(context),
        name_(std::move(name)),
        function_(function),
        params_(params) {}

  std::string implementation() const override { return name_; }
  std::string enqueue(const cuda::CUdeviceptr* operands, cuda::CUdeviceptr,
                      cuda::CUstream stream) const override {
    EmbeddingParams params = params_;
    cuda::CUdeviceptr table = operands[0], indices = operands[1],
                      result = operands[2];
    void* parameters[] = {&params, &table, &indices, &result};
    constexpr int64_t kPiecesPerLane = 4;
    return start(*context_.driver, function_,
                 ceil_div(params.count, kBlockThreads / params.lanes),
                 ceil_div(params.pieces, params.lanes * kPiecesPerLane), stream,
                 parameters);
  }

 private:
  const CudaContext context_;  // A copy, which keeps the module.
  const std::string name_;
  const cuda::CUfunction function_;
  const EmbeddingParams params_;
};

// The kernels that the gradient launches.
struct GradFunctions {
  cuda::CUfunction count_indices, move_indices, count, offsets, move;
  cuda::CUfunction sum_rows, sum_rest;
};

// Offsets of the parts of the workspace.
struct GradPlan {
  GradPlan(const EmbeddingShape& s) : shape(s) {
    blocks = ceil_div(s.count, kSortTile);
    for (passes = 1; s.rows >> (8 * passes) > 0;) ++passes;
    for (int i = 0; i < 2; ++i) {
      keys[i] = take(4 * s.count);
      positions[i] = take(4 * s.count);
    }
    counts = take(4 * kSortDigits * blocks);
    totals = take(4 * kSortDigits);
    for (int64_t entries = s.count; entries > kSumLength;) {
      entries = 2 * ceil_div(entries, kSumLength);
      rest_keys.push_back(take(4 * entries));
      rest.push_back(take(4 * entries * s.width));
    }
  }

  EmbeddingShape shape;
  int64_t blocks;
  int passes;
  size_t keys[2], positions[2], counts, totals;
  std::vector<size_t> rest_keys, rest;  // For each level except the last.
  size_t bytes = 0;

 private:
  size_t take(int64_t size) {
    const size_t offset = bytes;
    bytes += static_cast<size_t>(ceil_div(size, 256) * 256);
    return offset;
  }
};

class CudaEmbeddingGrad final : public CudaKernel {
 public:
  CudaEmbeddingGrad(const CudaContext& context, std::string name,
                    const GradFunctions& functions, const GradPlan& plan,
                    int64_t row_vector, int64_t rest_vector)
      : context_(context),
        name_(std::move(name)),
        functions_(functions),
        plan_(plan),
        row_vector_(row_vector),
        rest_vector_(rest_vector) {}

  std::string implementation() const override { return name_; }
  size_t workspace_bytes() const override { return plan_.bytes; }

  std::string enqueue(const cuda::CUdeviceptr* operands,
                      cuda::CUdeviceptr workspace,
                      cuda::CUstream stream) const override {
    const EmbeddingShape& s = plan_.shape;
    const cuda::CUresult cleared = context_.driver->cuMemsetD8Async(
        operands[2], 0, static_cast<size_t>(s.rows * s.width) * 4, stream);
    if (cleared != cuda::CUDA_SUCCESS)
      return describe_error(*context_.driver, "cuMemsetD8Async", cleared);
    std::string failed;
    for (int pass = 0; pass < plan_.passes && failed.empty(); ++pass)
      failed = sort(operands[1], workspace, pass, stream);
    if (!failed.empty()) return failed;
    return add(operands[0], operands[2], workspace, stream);
  }

 private:
  // Sorts by one digit, into the other half of the workspace's lists.
  std::string sort(cuda::CUdeviceptr indices, cuda::CUdeviceptr workspace,
                   int pass, cuda::CUstream stream) const {
    const EmbeddingShape& s = plan_.shape;
    const int to = pass % 2, from = 1 - to;
    EmbeddingSortParams p{static_cast<uint32_t>(s.count),
                          static_cast<uint32_t>(plan_.blocks),
                          static_cast<uint32_t>(s.rows), 8 * pass};
    cuda::CUdeviceptr keys = workspace + plan_.keys[from],
                      positions = workspace + plan_.positions[from],
                      counts = workspace + plan_.counts,
                      totals = workspace + plan_.totals,
                      to_keys = workspace + plan_.keys[to],
                      to_positions = workspace + plan_.positions[to];
    void* count_indices[] = {&p, &indices, &counts};
    void* count[] = {&p, &keys, &counts};
    void* offsets[] = {&p, &counts, &totals};
    void* move_indices[] = {&p,      &indices, &counts,
                            &totals, &to_keys, &to_positions};
    void* move[] = {&p,      &keys,    &positions,   &counts,
                    &totals, &to_keys, &to_positions};
    const cuda::Driver& driver = *context_.driver;
    const bool first = pass == 0;
    std::string failed =
        start(driver, first ? functions_.count_indices : functions_.count,
              plan_.blocks, 1, stream, first ? count_indices : count);
    if (failed.empty())
      failed =
          start(driver, functions_.offsets, kSortDigits, 1, stream, offsets);
    if (failed.empty())
      failed = start(driver, first ? functions_.move_indices : functions_.move,
                     plan_.blocks, 1, stream, first ? move_indices : move);
    return failed;
  }

  // Adds level by level, until all sums are complete.
  std::string add(cuda::CUdeviceptr grad, cuda::CUdeviceptr table,
                  cuda::CUdeviceptr workspace, cuda::CUstream stream) const {
    const EmbeddingShape& s = plan_.shape;
    const int sorted_by = (plan_.passes - 1) % 2;
    cuda::CUdeviceptr sorted = workspace + plan_.keys[sorted_by],
                      positions = workspace + plan_.positions[sorted_by];
    cuda::CUdeviceptr keys = sorted, rows = grad;
    int64_t entries = s.count;
    uint64_t span = kSumLength;
    for (size_t level = 0; level <= plan_.rest.size(); ++level) {
      const bool more = level < plan_.rest.size();
      const int64_t vector = level == 0 ? row_vector_ : rest_vector_;
      EmbeddingSumParams p{static_cast<uint32_t>(entries),
                           static_cast<uint32_t>(ceil_div(entries, kSumLength)),
                           static_cast<uint32_t>(s.count),
                           static_cast<uint32_t>(s.rows),
                           span,
                           s.width,
                           lanes_for(s.width / vector)};
      cuda::CUdeviceptr rest_keys =
          more ? workspace + plan_.rest_keys[level] : 0;
      cuda::CUdeviceptr rest = more ? workspace + plan_.rest[level] : 0;
      void* parameters[] = {&p,      &keys,      &positions, &rows,
                            &sorted, &rest_keys, &rest,      &table};
      const std::string failed =
          start(*context_.driver,
                level == 0 ? functions_.sum_rows : functions_.sum_rest,
                ceil_div(p.groups, kBlockThreads / p.lanes),
                ceil_div(s.width / vector, p.lanes), stream, parameters);
      if (!failed.empty()) return failed;
      keys = rest_keys;
      rows = rest;
      positions = 0;
      entries = 2 * int64_t{p.groups};
      span *= kSumLength / 2;
    }
    return "";
  }

  const CudaContext context_;  // A copy, which keeps the module.
  const std::string name_;
  const GradFunctions functions_;
  const GradPlan plan_;
  const int64_t row_vector_, rest_vector_;  // Elements per load.
};

}  // namespace

std::unique_ptr<CudaKernel> make_cuda_embedding(const EmbeddingShape& shape,
                                                const CudaContext& context,
                                                std::string* error) {
  const int64_t bytes =
      shape.width * static_cast<int64_t>(mpc_dtype_size(shape.dtype));
  int64_t piece = 16;
  while (bytes % piece != 0) piece /= 2;
  const std::string name = "mpc_embedding_" + std::to_string(piece) + "_" +
                           mpc_dtype_name(shape.index_dtype);
  const cuda::CUfunction function =
      context.shared->function(context, name.c_str(), error);
  if (!function) return nullptr;
  return std::make_unique<CudaEmbedding>(
      context, name, function,
      EmbeddingParams{shape.rows, bytes / piece, shape.count,
                      lanes_for(bytes / piece)});
}

std::unique_ptr<CudaKernel> make_cuda_embedding_grad(
    const EmbeddingShape& shape, const CudaContext& context,
    std::string* error) {
  if (shape.count > INT32_MAX) {
    *error = "there must be fewer than 2^31 indices, found " +
             std::to_string(shape.count);
    return nullptr;
  }
  const int64_t in_16_bytes =
      16 / static_cast<int64_t>(mpc_dtype_size(shape.dtype));
  const int64_t row_vector = shape.width % in_16_bytes == 0 ? in_16_bytes : 1;
  const int64_t rest_vector = shape.width % 4 == 0 ? 4 : 1;
  std::string name =
      std::string("mpc_embedding_sum_") + mpc_dtype_name(shape.dtype);
  if (row_vector > 1) name += "x" + std::to_string(row_vector);
  const std::string indices = mpc_dtype_name(shape.index_dtype);
  GradFunctions functions{};
  const std::pair<cuda::CUfunction*, std::string> wanted[] = {
      {&functions.count_indices, "mpc_embedding_count_" + indices},
      {&functions.move_indices, "mpc_embedding_move_" + indices},
      {&functions.count, "mpc_embedding_count"},
      {&functions.offsets, "mpc_embedding_offsets"},
      {&functions.move, "mpc_embedding_move"},
      {&functions.sum_rows, name},
      {&functions.sum_rest,
       rest_vector > 1 ? "mpc_embedding_sum_f32x4" : "mpc_embedding_sum_f32"}};
  for (const auto& [function, text] : wanted) {
    *function = context.shared->function(context, text.c_str(), error);
    if (!*function) return nullptr;
  }
  return std::make_unique<CudaEmbeddingGrad>(
      context, name, functions, GradPlan(shape), row_vector, rest_vector);
}

}  // namespace mpc::kernels
