#include "runtime/src/device/cuda/module.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace mpc::runtime {

using namespace mpc::cuda;

namespace {

// The first compute capability with bf16 arithmetic.
constexpr int kFirstWithBf16 = 80;

std::string_view target_of(const schema::Segment& segment) {
  return segment.target() ? segment.target()->string_view()
                          : std::string_view();
}

// 80 for "sm_80"; 0 for anything else, including "sm_90a" and the like, which
// run on no other device.
int version_of(std::string_view target) {
  if (target.substr(0, 3) != "sm_" || target.size() > 6) return 0;
  int version = 0;
  for (char digit : target.substr(3)) {
    if (digit < '0' || digit > '9') return 0;
    version = 10 * version + (digit - '0');
  }
  return version;
}

// A rank of code for a device, higher is better; 0 if the device cannot run it.
int suitability(const schema::Segment& segment, const Gpu& gpu) {
  constexpr int kExactCubin = 1 << 20, kExactPtx = kExactCubin - 1;
  bool is_cubin = segment.kind() == schema::SegmentKind::Cubin;
  if (target_of(segment) == gpu.architecture())
    return is_cubin ? kExactCubin : kExactPtx;
  int version = version_of(target_of(segment));
  return !is_cubin && version <= gpu.compute_capability() ? version : 0;
}

bool is_cuda_code(const schema::Segment& segment) {
  return segment.kind() == schema::SegmentKind::Cubin ||
         segment.kind() == schema::SegmentKind::Ptx;
}

mpc_status_t no_code(const Gpu& gpu, const mpc_program_t& program) {
  std::vector<std::string> names;
  if (program.root->segments())
    for (const schema::Segment* segment : *program.root->segments())
      if (is_cuda_code(*segment))
        names.push_back(
            std::string(target_of(*segment)) +
            (segment->kind() == schema::SegmentKind::Ptx ? " (PTX)" : ""));
  std::sort(names.begin(), names.end());
  std::string list;
  for (const std::string& name : names)
    list += (list.empty() ? "" : ", ") + name;
  return mpc_status_make(
      MPC_INCOMPATIBLE,
      "the package has no code that %s (%s) runs; it has %s; compile the model "
      "with option 'target'=cuda:%s",
      gpu.name().c_str(), gpu.architecture().c_str(),
      list.empty() ? "none for CUDA" : list.c_str(),
      gpu.architecture().c_str());
}

mpc_status_t check_precision(const Gpu& gpu, const mpc_program_t& program) {
  const char* precision = mpc_program_option(&program, "precision");
  if (!precision || std::strcmp(precision, "bf16") != 0 ||
      gpu.compute_capability() >= kFirstWithBf16)
    return nullptr;
  return mpc_status_make(
      MPC_INCOMPATIBLE,
      "the package computes in bf16, which needs compute capability 8.0; %s "
      "has %d.%d; use option 'precision'=fp16",
      gpu.name().c_str(), gpu.compute_capability() / 10,
      gpu.compute_capability() % 10);
}

std::string describe_code(const schema::Segment& segment) {
  return (segment.kind() == schema::SegmentKind::Ptx ? "PTX for "
                                                     : "machine code for ") +
         std::string(target_of(segment));
}

// Loads one segment; `*out_log` is the driver's message, if any.
CUresult load_segment(const Gpu& gpu, const mpc_program_t& program,
                      const schema::Segment& segment, CUmodule* out_module,
                      std::string* out_log) {
  const uint8_t* data = program.file.data() + segment.offset();
  // The driver expects PTX as a NUL-terminated string.
  std::string text;
  const void* image = data;
  if (segment.kind() == schema::SegmentKind::Ptx) {
    text.assign(reinterpret_cast<const char*>(data), segment.size());
    image = text.c_str();
  }
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log) - 1)};
  const CUresult result =
      gpu.driver().cuModuleLoadDataEx(out_module, image, 2, options, values);
  *out_log = log;
  return result;
}

// Advice for code that is too new for the driver.
std::string remedy(const Gpu& gpu, CUresult result) {
  if (result != CUDA_ERROR_UNSUPPORTED_PTX_VERSION &&
      result != CUDA_ERROR_NO_BINARY_FOR_GPU &&
      result != CUDA_ERROR_INVALID_IMAGE)
    return "";
  const int version = driver_version(gpu.driver());
  return "; update NVIDIA's driver" +
         (version == 0
              ? std::string()
              : ", which is of CUDA " + cuda_version_text(version) + ",") +
         " or compile the model with an older ptxas on the path";
}

}  // namespace

mpc_status_t choose_code(const Gpu& gpu, const mpc_program_t& program,
                         const schema::Variant& variant,
                         std::vector<const schema::Segment*>* out_segments) {
  out_segments->clear();
  MPC_RETURN_IF_ERROR(check_precision(gpu, program));
  if (!variant.functions() || variant.functions()->size() == 0) return nullptr;
  if (program.root->segments())
    for (const schema::Segment* segment : *program.root->segments())
      if (is_cuda_code(*segment) && suitability(*segment, gpu) > 0)
        out_segments->push_back(segment);
  std::stable_sort(out_segments->begin(), out_segments->end(),
                   [&](const schema::Segment* a, const schema::Segment* b) {
                     return suitability(*a, gpu) > suitability(*b, gpu);
                   });
  return out_segments->empty() ? no_code(gpu, program) : nullptr;
}

mpc_status_t load_module(const Gpu& gpu, const mpc_program_t& program,
                         const std::vector<const schema::Segment*>& segments,
                         CudaModule* out_module, std::string* out_note) {
  std::string refusals;
  CUresult result = CUDA_SUCCESS;
  for (const schema::Segment* segment : segments) {
    CUmodule module = nullptr;
    std::string log;
    result = load_segment(gpu, program, *segment, &module, &log);
    if (result == CUDA_SUCCESS) {
      *out_module = CudaModule(gpu, module);
      if (!refusals.empty())
        *out_note = describe_code(*segment) + " is used, as " + refusals;
      return nullptr;
    }
    if (!refuses_code(result))
      return gpu.check(result, "cuModuleLoadDataEx", MPC_INCOMPATIBLE,
                       describe_code(*segment).c_str());
    if (!refusals.empty()) refusals += ", ";
    refusals += describe_code(*segment) + " was refused: " +
                describe_error(gpu.driver(), "cuModuleLoadDataEx", result) +
                (log.empty() ? "" : ": " + log);
  }
  return mpc_status_make(
      MPC_INCOMPATIBLE, "%s takes none of the package's code: %s%s",
      gpu.name().c_str(), refusals.c_str(), remedy(gpu, result).c_str());
}

}  // namespace mpc::runtime
