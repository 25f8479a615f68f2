// The fake driver's modules and launches.

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "test/cuda/fake/fake_state.h"
#include "test/device_sim/abi.h"
#include "test/device_sim/device_sim.h"

namespace mpc::test {

using namespace mpc::cuda;
using State = FakeDriver::State;

namespace {

// Keeps functions that images call in the program, even if no other code needs
// them.
__attribute__((used)) uint32_t (*const kKeep)(uint32_t) = mpc_sim_thread_index;

// Whether an image is code for this machine rather than a cubin, which is also
// ELF.
bool is_simulator_image(const void* image) {
  Elf64_Ehdr header;
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return false;
  std::memcpy(&header, image, sizeof(header));
  return header.e_machine != EM_CUDA;
}

// The size of an ELF file at this address.
size_t size_of_image(const void* image) {
  const auto* bytes = static_cast<const char*>(image);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof(header));
  size_t size = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + i * header.e_shentsize,
                sizeof(section));
    if (section.sh_type != SHT_NOBITS)
      size = std::max<size_t>(size, section.sh_offset + section.sh_size);
  }
  return size;
}

void write_log(unsigned num_options, const CUjit_option* options, void** values,
               const char* text) {
  char* log = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < num_options; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      size = reinterpret_cast<size_t>(values[i]);
  }
  if (log && size > 0) std::strncpy(log, text, size);
}

}  // namespace

bool State::load_image(const void* image, FakeModule* module) {
  module->file = memfd_create("mpc-simulator-image", MFD_CLOEXEC);
  size_t size = size_of_image(image);
  if (module->file < 0 ||
      write(module->file, image, size) != static_cast<ssize_t>(size))
    return false;
  std::string path = "/proc/self/fd/" + std::to_string(module->file);
  module->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module->library) error = dlerror();
  return module->library != nullptr;
}

CUresult State::cuModuleLoadDataEx(CUmodule* handle, const void* image,
                                   unsigned num_options,
                                   CUjit_option* jit_options, void** values) {
  last_image.clear();
  if (is_simulator_image(image)) {
    FakeModule* module = modules.add();
    *handle = reinterpret_cast<CUmodule>(module);
    if (load_image(image, module)) return CUDA_SUCCESS;
    (void)cuModuleUnload(*handle);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  // Text ends with a NUL, as the driver requires.
  std::string text(static_cast<const char*>(image));
  last_image = text;
  if (options.refused && text.rfind(options.refused, 0) == 0)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (text.find("invalid") != std::string::npos) {
    write_log(num_options, jit_options, values,
              "ptxas application ptx input, line 1; fatal : no such thing");
    return CUDA_ERROR_INVALID_PTX;
  }
  *handle = reinterpret_cast<CUmodule>(modules.add());
  return CUDA_SUCCESS;
}

CUresult State::cuModuleUnload(CUmodule handle) {
  run_all();
  FakeModule* module = modules.find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  module->functions.clear();
  if (module->library) dlclose(module->library);
  if (module->file >= 0) close(module->file);
  modules.remove(handle);
  return CUDA_SUCCESS;
}

FakeFunction* State::find_function(FakeModule* module,
                                   const std::string& name) {
  auto function = std::make_unique<FakeFunction>();
  if (module->library) {
    void* address = dlsym(module->library, name.c_str());
    if (!address) return nullptr;
    void (*kernel)(void* const*);
    std::memcpy(&kernel, &address, sizeof(kernel));
    function->kernel = kernel;
  } else {
    auto found = kernels.find(name);
    if (found == kernels.end()) return nullptr;
    *function = found->second;
  }
  auto& slot = module->functions[name];
  if (!slot) slot = std::move(function);
  return slot.get();
}

CUresult State::cuModuleGetFunction(CUfunction* function, CUmodule handle,
                                    const char* name) {
  FakeModule* module = modules.find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  FakeFunction* found = find_function(module, name);
  if (!found) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(found);
  return CUDA_SUCCESS;
}

CUresult State::cuFuncGetAttribute(int* value, CUfunction_attribute,
                                   CUfunction) {
  *value = 0;
  return CUDA_SUCCESS;
}

CUresult State::cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}

CUresult State::cuLaunchKernel(CUfunction handle, unsigned grid_x,
                               unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared_bytes,
                               CUstream stream, void** parameters, void**) {
  const auto* function = reinterpret_cast<const FakeFunction*>(handle);
  // Like CUDA, read the parameters now, if their sizes are known.
  std::vector<std::vector<uint8_t>> values;
  for (size_t size : function->sizes) {
    const auto* first = static_cast<const uint8_t*>(parameters[values.size()]);
    values.emplace_back(first, first + size);
  }
  device_sim::Launch launch{
      {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  return enqueue(stream, [this, launch, parameters, function = *function,
                          values = std::move(values)]() mutable {
    if (broken != CUDA_SUCCESS) return broken;
    std::vector<void*> places;
    for (std::vector<uint8_t>& value : values) places.push_back(value.data());
    void* const* given = function.has_sizes ? places.data() : parameters;
    std::string what = device_sim::run(launch, [&] { function.kernel(given); });
    if (what.empty()) return CUDA_SUCCESS;
    return refuse(CUDA_ERROR_LAUNCH_FAILED, what);
  });
}

}  // namespace mpc::test
