#include "runtime/src/device/cuda/module.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace mpc::runtime {

using namespace mpc::cuda;

namespace {

// bf16 arithmetic begins here.
constexpr int kFirstWithBf16 = 80;

std::string_view target_of(const schema::Segment& segment) {
  return segment.target() ? segment.target()->string_view()
                          : std::string_view();
}

// 80 of "sm_80"; 0 for "sm_90a" and the like, which other devices do not take,
// and for anything else.
int version_of(std::string_view target) {
  if (target.substr(0, 3) != "sm_" || target.size() > 6) return 0;
  int version = 0;
  for (char digit : target.substr(3)) {
    if (digit < '0' || digit > '9') return 0;
    version = 10 * version + (digit - '0');
  }
  return version;
}

// How well code serves a device; 0 if not at all.
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
      "with --target=cuda:%s",
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
      "has %d.%d; compile the model with --precision=fp16",
      gpu.name().c_str(), gpu.compute_capability() / 10,
      gpu.compute_capability() % 10);
}

}  // namespace

mpc_status_t choose_code(const Gpu& gpu, const mpc_program_t& program,
                         const schema::Variant& variant,
                         const schema::Segment** out_segment) {
  *out_segment = nullptr;
  MPC_RETURN_IF_ERROR(check_precision(gpu, program));
  if (!variant.functions() || variant.functions()->size() == 0) return nullptr;
  int best = 0;
  if (program.root->segments())
    for (const schema::Segment* segment : *program.root->segments()) {
      int suits = is_cuda_code(*segment) ? suitability(*segment, gpu) : 0;
      if (suits <= best) continue;
      best = suits;
      *out_segment = segment;
    }
  return *out_segment ? nullptr : no_code(gpu, program);
}

mpc_status_t load_module(const Gpu& gpu, const mpc_program_t& program,
                         const schema::Segment& segment,
                         CudaModule* out_module) {
  const uint8_t* data = program.file.data() + segment.offset();
  // The driver takes PTX as a string.
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
  CUmodule module = nullptr;
  CUresult result =
      gpu.driver().cuModuleLoadDataEx(&module, image, 2, options, values);
  std::string detail = "the code for " + std::string(target_of(segment));
  if (log[0]) detail += std::string(": ") + log;
  MPC_RETURN_IF_ERROR(gpu.check(result, "cuModuleLoadDataEx", MPC_INCOMPATIBLE,
                                detail.c_str()));
  *out_module = CudaModule(gpu, module);
  return nullptr;
}

}  // namespace mpc::runtime
