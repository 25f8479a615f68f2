// Implements Device for a CUDA device.

#include "runtime/src/device/device.h"

#include <memory>
#include <utility>
#include <vector>

#include "runtime/src/device/cuda/collectives.h"
#include "runtime/src/device/cuda/executable.h"
#include "runtime/src/device/cuda/module.h"
#include "runtime/src/device/driver.h"

namespace mpc::runtime {

using namespace mpc::cuda;

namespace {

class CudaDevice : public Device {
 public:
  CudaDevice(const mpc_program_t& program, const schema::Variant& variant,
             const DeviceOptions& options)
      : program_(program), variant_(variant), options_(options) {}

  mpc_status_t open(int index);
  const std::string& name() const override { return gpu_.name(); }
  mpc_status_t allocate(uint64_t state_size, uint64_t arena_size) override;
  mpc_status_t upload(schema::Space space, uint64_t offset, const void* data,
                      uint64_t size, MemoryKind memory_kind) override;
  mpc_status_t download(schema::Space space, uint64_t offset, void* data,
                        uint64_t size, MemoryKind memory_kind) const override;
  mpc_status_t locate(mpc_device_t device, const void* data,
                      MemoryKind* out_memory_kind) const override;
  mpc_status_t join_ranks(const mpc_communicator_t& communicator,
                          std::unique_ptr<DeviceRanks>* out_ranks,
                          std::string* out_why) override {
    ContextScope scope(gpu_);
    MPC_RETURN_IF_ERROR(scope.take_status());
    return join_gpus(gpu_, addresses(), stream_, communicator, out_ranks,
                     out_why);
  }
  mpc_status_t prepare(std::unique_ptr<Executable>* out_executable) override;

 private:
  mpc_status_t take_zeroed(uint64_t size, const char* what,
                           DeviceMemory* out_memory);
  CudaAddresses addresses() const { return {states_.get(), arena_.get()}; }
  mpc_status_t synchronize() const {
    return MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuStreamSynchronize, stream_);
  }

  const mpc_program_t& program_;
  const schema::Variant& variant_;
  const DeviceOptions options_;
  Gpu gpu_;  // Destroyed after all members below.
  std::vector<const schema::Segment*> code_;
  CudaStream own_stream_;
  CUstream stream_ = nullptr;  // The caller's or ours.
  DeviceMemory states_;
  DeviceMemory arena_;
  uint64_t arena_size_ = 0;
};

mpc_status_t CudaDevice::open(int index) {
  if (!options_.code_folder.empty())
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "a folder for compiled code was given, but the "
                           "session runs on a GPU; use the device 'cpu'");
  MPC_RETURN_IF_ERROR(
      gpu_.open(index, find_variant(*program_.root, "cpu")
                           ? "use the device 'cpu'"
                           : "recompile the model with option 'target'=cpu"));
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  MPC_RETURN_IF_ERROR(choose_code(gpu_, program_, variant_, &code_));
  if (!options_.stream) MPC_RETURN_IF_ERROR(create_stream(gpu_, &own_stream_));
  stream_ = options_.stream ? static_cast<CUstream>(options_.stream)
                            : own_stream_.get();
  return nullptr;
}

mpc_status_t CudaDevice::take_zeroed(uint64_t size, const char* what,
                                     DeviceMemory* out_memory) {
  MPC_RETURN_IF_ERROR(allocate_device(gpu_, size, what, out_memory));
  if (size == 0) return nullptr;
  return MPC_CUDA(gpu_, MPC_UNAVAILABLE, cuMemsetD8Async, out_memory->get(), 0,
                  size, stream_);
}

mpc_status_t CudaDevice::allocate(uint64_t state_size, uint64_t arena_size) {
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  MPC_RETURN_IF_ERROR(take_zeroed(state_size, "the states", &states_));
  arena_size_ = arena_size;
  return take_zeroed(arena_size, "the arena", &arena_);
}

mpc_status_t CudaDevice::upload(schema::Space space, uint64_t offset,
                                const void* data, uint64_t size,
                                MemoryKind memory_kind) {
  if (size == 0) return nullptr;
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  CUdeviceptr to = addresses().at(space, offset);
  MPC_RETURN_IF_ERROR(
      memory_kind == MemoryKind::kDevice
          ? MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyDtoDAsync_v2, to,
                     reinterpret_cast<CUdeviceptr>(data), size, stream_)
          : MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyHtoDAsync_v2, to, data,
                     size, stream_));
  return synchronize();
}

mpc_status_t CudaDevice::download(schema::Space space, uint64_t offset,
                                  void* data, uint64_t size,
                                  MemoryKind memory_kind) const {
  if (size == 0) return nullptr;
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  CUdeviceptr from = addresses().at(space, offset);
  MPC_RETURN_IF_ERROR(
      memory_kind == MemoryKind::kDevice
          ? MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyDtoDAsync_v2,
                     reinterpret_cast<CUdeviceptr>(data), from, size, stream_)
          : MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyDtoHAsync_v2, data, from,
                     size, stream_));
  return synchronize();
}

mpc_status_t CudaDevice::locate(mpc_device_t device, const void* data,
                                MemoryKind* out_memory_kind) const {
  *out_memory_kind = MemoryKind::kHost;
  if (device.kind == MPC_DEVICE_HOST) return nullptr;
  *out_memory_kind = MemoryKind::kDevice;
  if (device.kind != MPC_DEVICE_CUDA || device.index != gpu_.index())
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "lies in the memory of another device (kind %u, "
                           "number %d), but the session runs on %s",
                           static_cast<unsigned>(device.kind),
                           static_cast<int>(device.index), name().c_str());
  if (!data) return nullptr;
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  int ordinal = -1;
  CUresult result = gpu_.driver().cuPointerGetAttribute(
      &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      reinterpret_cast<CUdeviceptr>(data));
  if (result == CUDA_SUCCESS && ordinal == gpu_.index()) return nullptr;
  return mpc_status_make(MPC_INVALID_ARGUMENT,
                         "the address %p is not in the memory of %s", data,
                         name().c_str());
}

mpc_status_t CudaDevice::prepare(std::unique_ptr<Executable>* out_executable) {
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  auto executable = std::make_unique<CudaExecutable>(gpu_, program_, variant_,
                                                     addresses(), stream_);
  // The arena is empty before the first step, so kernel trials may use it: a
  // program that fills the device leaves no other memory for them.
  MPC_RETURN_IF_ERROR(synchronize());
  MPC_RETURN_IF_ERROR(executable->prepare(code_, options_.deterministic,
                                          {arena_.get(), arena_size_}));
  if (arena_size_ > 0)
    MPC_RETURN_IF_ERROR(MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemsetD8Async,
                                 arena_.get(), 0, arena_size_, stream_));
  *out_executable = std::move(executable);
  return nullptr;
}

mpc_status_t open_cuda(int index, const mpc_program_t& program,
                       const schema::Variant& variant,
                       const DeviceOptions& options,
                       std::unique_ptr<Device>* out_device) {
  auto device = std::make_unique<CudaDevice>(program, variant, options);
  MPC_RETURN_IF_ERROR(device->open(index));
  *out_device = std::move(device);
  return nullptr;
}

}  // namespace

// No checks without a device: only an open device tells which code it runs and
// whether it supports bf16.
const DeviceDriver kCudaDriver = {open_cuda, /*check_code=*/nullptr,
                                  /*check_machine=*/nullptr,
                                  /*has_blocks=*/true};

}  // namespace mpc::runtime
