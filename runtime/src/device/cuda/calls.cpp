#include "runtime/src/device/cuda/calls.h"

#include <algorithm>
#include <utility>

#include "kernels/shapes.h"
#include "runtime/src/device/cuda/module.h"
#include "runtime/src/device/kernel_call.h"

namespace mpc::runtime {

using namespace mpc::cuda;

CudaCalls::~CudaCalls() {
  ContextScope scope(gpu_);
  // Libraries and modules need the context to release them.
  kernels_.clear();
  copies_.reset();
}

mpc_status_t CudaCalls::prepare(const std::vector<const schema::Segment*>& code,
                                CUstream stream, bool deterministic,
                                kernels::IdleMemory idle) {
  MPC_RETURN_IF_ERROR(find_functions(code));
  kernels::CudaContext context;
  context.driver = &gpu_.driver();
  context.context = gpu_.context();
  context.stream = stream;
  context.compute_capability = gpu_.compute_capability();
  context.device_name = gpu_.model();
  context.deterministic = deterministic;
  context.autotune_caches = kernels::AutotuneCaches::of_process();
  context.idle = idle;
  copies_.emplace(context);
  find_libraries(&context);
  for (const schema::Entry* entry : *variant_.entries())
    MPC_RETURN_IF_ERROR(prepare_entry(*entry, context));
  const std::string own = kernels::cuda_note(context);
  if (!own.empty()) note_ += (note_.empty() ? "" : "; ") + own;
  if (workspace_size_ == 0) return nullptr;
  return allocate_device(gpu_, workspace_size_, "the workspace of the kernels",
                         &workspace_);
}

mpc_status_t CudaCalls::find_functions(
    const std::vector<const schema::Segment*>& code) {
  if (code.empty()) return nullptr;
  MPC_RETURN_IF_ERROR(load_module(gpu_, program_, code, &module_, &note_));
  for (const schema::Function* function : *variant_.functions()) {
    const char* symbol = function->symbol()->c_str();
    CUfunction address = nullptr;
    CUresult result =
        gpu_.driver().cuModuleGetFunction(&address, module_.get(), symbol);
    if (result == CUDA_ERROR_NOT_FOUND)
      return mpc_status_make(
          MPC_DAMAGED, "the compiled code lacks the function '%s'", symbol);
    MPC_RETURN_IF_ERROR(
        gpu_.check(result, "cuModuleGetFunction", MPC_UNAVAILABLE, symbol));
    functions_.push_back(address);
  }
  return nullptr;
}

// Loads only the libraries that some call needs, because they are large.
void CudaCalls::find_libraries(kernels::CudaContext* context) const {
  if (needs_library(kernels::CudaLibrary::cublaslt))
    context->cublaslt = load_cublaslt(&context->cublaslt_missing);
  if (needs_library(kernels::CudaLibrary::cudnn))
    context->cudnn = load_cudnn(&context->cudnn_missing);
}

bool CudaCalls::needs_library(kernels::CudaLibrary library) const {
  for (const schema::Entry* entry : *variant_.entries()) {
    if (!entry->instructions()) continue;
    for (const schema::Instruction* instruction : *entry->instructions()) {
      const auto id = static_cast<kernels::KernelId>(instruction->kernel());
      if (instruction->function() < 0 && kernels::needs_library(id, library))
        return true;
    }
  }
  return false;
}

mpc_status_t CudaCalls::prepare_entry(const schema::Entry& entry,
                                      const kernels::CudaContext& context) {
  entries_.emplace_back();
  Entry& made = entries_.back();
  if (!entry.instructions()) return nullptr;
  for (const schema::Instruction* instruction : *entry.instructions())
    for (const schema::Buffer* buffer : *instruction->operands())
      made.operands.push_back(addresses_.at(buffer->space(), buffer->offset()));
  for (CUdeviceptr& operand : made.operands)
    made.parameters.push_back(&operand);
  // These must not reallocate from here on: calls point into them.
  size_t first = 0;
  for (const schema::Instruction* instruction : *entry.instructions()) {
    CudaCall call;
    MPC_RETURN_IF_ERROR(prepare_call(*instruction, entry, context, &call));
    call.operands = made.operands.data() + first;
    call.parameters = made.parameters.data() + first;
    first += instruction->operands()->size();
    made.calls.push_back(call);
  }
  return nullptr;
}

mpc_status_t CudaCalls::prepare_call(const schema::Instruction& instruction,
                                     const schema::Entry& entry,
                                     const kernels::CudaContext& context,
                                     CudaCall* call) {
  if (instruction.function() >= 0) {
    call->function = functions_[static_cast<size_t>(instruction.function())];
    call->blocks = static_cast<uint32_t>(instruction.items());
    call->threads = instruction.threads();
    return instruction.shared_bytes() == 0
               ? nullptr
               : provide_shared(instruction.shared_bytes(), call);
  }
  const kernels::KernelDesc desc = describe_call(instruction);
  std::vector<int64_t> key = key_of(desc);
  auto found = kernels_.find(key);
  if (found == kernels_.end()) {
    std::string error;
    auto kernel = kernels::make_cuda_kernel(desc, context, &error);
    if (!kernel) return kernel_error(entry, instruction, error);
    workspace_size_ = std::max(workspace_size_, kernel->workspace_bytes());
    const auto text = [](const flatbuffers::String* name) {
      return name ? name->str() : std::string();
    };
    used_.push_back({std::string(kernels::kernel_name(desc.id)),
                     kernel->implementation(), text(entry.name()),
                     text(instruction.name()), 0, kernel->workspace_bytes()});
    found = kernels_
                .emplace(std::move(key),
                         Prepared{std::move(kernel), used_.size() - 1})
                .first;
  }
  ++used_[found->second.index].calls;
  call->kernel = found->second.kernel.get();
  return nullptr;
}

// Gives a block as much of `wanted` as the device has.
mpc_status_t CudaCalls::provide_shared(uint32_t wanted, CudaCall* call) const {
  int fixed = 0;
  MPC_RETURN_IF_ERROR(MPC_CUDA(gpu_, MPC_UNAVAILABLE, cuFuncGetAttribute,
                               &fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                               call->function));
  const int left = std::max(gpu_.max_shared_bytes() - fixed, 0);
  call->shared_bytes = std::min(wanted, static_cast<uint32_t>(left));
  return MPC_CUDA(gpu_, MPC_UNAVAILABLE, cuFuncSetAttribute, call->function,
                  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                  static_cast<int>(call->shared_bytes));
}

mpc_status_t CudaCalls::enqueue(uint32_t entry, size_t index,
                                CUstream stream) const {
  const CudaCall& call = entries_[entry].calls[index];
  std::string error;
  if (call.kernel) {
    error = call.kernel->enqueue(call.operands, workspace_.get(), stream);
  } else {
    CUresult result = gpu_.driver().cuLaunchKernel(
        call.function, call.blocks, 1, 1, call.threads, 1, 1, call.shared_bytes,
        stream, call.parameters, nullptr);
    if (result != CUDA_SUCCESS)
      error = describe_error(gpu_.driver(), "cuLaunchKernel", result);
  }
  if (error.empty()) return nullptr;
  const schema::Instruction& instruction =
      *variant_.entries()->Get(entry)->instructions()->Get(
          static_cast<uint32_t>(index));
  return mpc_status_make(MPC_DEVICE_LOST, "'%s': %s",
                         instruction.name() ? instruction.name()->c_str() : "",
                         error.c_str());
}

mpc_status_t CudaCalls::enqueue_all(uint32_t entry, CUstream stream) const {
  for (size_t i = 0; i < count(entry); ++i)
    MPC_RETURN_IF_ERROR(enqueue(entry, i, stream));
  return nullptr;
}

}  // namespace mpc::runtime
