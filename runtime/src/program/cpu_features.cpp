// Which of LLVM's x86 features this CPU has and the operating system enables.

#include "kernels/cpu_isa.h"
#include "runtime/src/program/program.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mpc::runtime {

#if defined(__x86_64__)

namespace {

enum Register : uint8_t { kEax, kEbx, kEcx, kEdx };

// Registers that the operating system must save so that a feature can be used
// (XCR0).
enum Saved : uint32_t {
  kNothing = 0,
  kYmm = 0x6,
  kZmm = 0xe6,
  kTiles = 0x60000,
};

// The CPUID bit of a feature.
struct Feature {
  const char* name;
  uint32_t leaf, subleaf;
  Register where;
  uint8_t bit;
  Saved saved;
};

constexpr Feature kFeatures[] = {
    {"64bit", 0x80000001, 0, kEdx, 29, kNothing},
    {"adx", 7, 0, kEbx, 19, kNothing},
    {"aes", 1, 0, kEcx, 25, kNothing},
    {"amx-bf16", 7, 0, kEdx, 22, kTiles},
    {"amx-fp16", 7, 1, kEax, 21, kTiles},
    {"amx-int8", 7, 0, kEdx, 25, kTiles},
    {"amx-tile", 7, 0, kEdx, 24, kTiles},
    {"avx", 1, 0, kEcx, 28, kYmm},
    {"avx2", 7, 0, kEbx, 5, kYmm},
    {"avx512bf16", 7, 1, kEax, 5, kZmm},
    {"avx512bitalg", 7, 0, kEcx, 12, kZmm},
    {"avx512bw", 7, 0, kEbx, 30, kZmm},
    {"avx512cd", 7, 0, kEbx, 28, kZmm},
    {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"avx512f", 7, 0, kEbx, 16, kZmm},
    {"avx512fp16", 7, 0, kEdx, 23, kZmm},
    {"avx512ifma", 7, 0, kEbx, 21, kZmm},
    {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vbmi2", 7, 0, kEcx, 6, kZmm},
    {"avx512vl", 7, 0, kEbx, 31, kZmm},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm},
    {"avx512vp2intersect", 7, 0, kEdx, 8, kZmm},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kZmm},
    {"avxifma", 7, 1, kEax, 23, kYmm},
    {"avxneconvert", 7, 1, kEdx, 5, kYmm},
    {"avxvnni", 7, 1, kEax, 4, kYmm},
    {"avxvnniint8", 7, 1, kEdx, 4, kYmm},
    {"avxvnniint16", 7, 1, kEdx, 10, kYmm},
    {"bmi", 7, 0, kEbx, 3, kNothing},
    {"bmi2", 7, 0, kEbx, 8, kNothing},
    {"cldemote", 7, 0, kEcx, 25, kNothing},
    {"clflushopt", 7, 0, kEbx, 23, kNothing},
    {"clwb", 7, 0, kEbx, 24, kNothing},
    {"clzero", 0x80000008, 0, kEbx, 0, kNothing},
    {"cmov", 1, 0, kEdx, 15, kNothing},
    {"crc32", 1, 0, kEcx, 20, kNothing},
    {"cx16", 1, 0, kEcx, 13, kNothing},
    {"cx8", 1, 0, kEdx, 8, kNothing},
    {"f16c", 1, 0, kEcx, 29, kYmm},
    {"fma", 1, 0, kEcx, 12, kYmm},
    {"fma4", 0x80000001, 0, kEcx, 16, kYmm},
    {"fsgsbase", 7, 0, kEbx, 0, kNothing},
    {"fxsr", 1, 0, kEdx, 24, kNothing},
    {"gfni", 7, 0, kEcx, 8, kNothing},
    {"invpcid", 7, 0, kEbx, 10, kNothing},
    {"lzcnt", 0x80000001, 0, kEcx, 5, kNothing},
    {"mmx", 1, 0, kEdx, 23, kNothing},
    {"movbe", 1, 0, kEcx, 22, kNothing},
    {"movdir64b", 7, 0, kEcx, 28, kNothing},
    {"movdiri", 7, 0, kEcx, 27, kNothing},
    {"mwaitx", 0x80000001, 0, kEcx, 29, kNothing},
    {"pclmul", 1, 0, kEcx, 1, kNothing},
    {"pku", 7, 0, kEcx, 4, kNothing},
    {"popcnt", 1, 0, kEcx, 23, kNothing},
    {"prefetchi", 7, 1, kEdx, 14, kNothing},
    {"prfchw", 0x80000001, 0, kEcx, 8, kNothing},
    {"ptwrite", 0x14, 0, kEbx, 4, kNothing},
    {"rdpid", 7, 0, kEcx, 22, kNothing},
    {"rdpru", 0x80000008, 0, kEbx, 4, kNothing},
    {"rdrnd", 1, 0, kEcx, 30, kNothing},
    {"rdseed", 7, 0, kEbx, 18, kNothing},
    {"sahf", 0x80000001, 0, kEcx, 0, kNothing},
    {"serialize", 7, 0, kEdx, 14, kNothing},
    {"sha", 7, 0, kEbx, 29, kNothing},
    {"shstk", 7, 0, kEcx, 7, kNothing},
    {"sse", 1, 0, kEdx, 25, kNothing},
    {"sse2", 1, 0, kEdx, 26, kNothing},
    {"sse3", 1, 0, kEcx, 0, kNothing},
    {"sse4.1", 1, 0, kEcx, 19, kNothing},
    {"sse4.2", 1, 0, kEcx, 20, kNothing},
    {"sse4a", 0x80000001, 0, kEcx, 6, kNothing},
    {"ssse3", 1, 0, kEcx, 9, kNothing},
    {"tbm", 0x80000001, 0, kEcx, 21, kNothing},
    {"tsxldtrk", 7, 0, kEdx, 16, kNothing},
    {"uintr", 7, 0, kEdx, 5, kNothing},
    {"vaes", 7, 0, kEcx, 9, kYmm},
    {"vpclmulqdq", 7, 0, kEcx, 10, kYmm},
    {"waitpkg", 7, 0, kEcx, 5, kNothing},
    {"wbnoinvd", 0x80000008, 0, kEbx, 9, kNothing},
    {"xop", 0x80000001, 0, kEcx, 11, kYmm},
    {"xsave", 1, 0, kEcx, 26, kNothing},
    {"xsavec", 0xd, 1, kEax, 1, kNothing},
    {"xsaveopt", 0xd, 1, kEax, 0, kNothing},
    {"xsaves", 0xd, 1, kEax, 3, kNothing},
    {"x87", 1, 0, kEdx, 0, kNothing},
};

// Registers that the operating system saves when it switches threads.
uint64_t saved_registers() {
  unsigned eax, ebx, ecx, edx;
  constexpr unsigned kOsxsave = 1u << 27;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & kOsxsave)) return 0;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

bool has_feature(const Feature& feature) {
  if ((saved_registers() & feature.saved) != feature.saved) return false;
  unsigned registers[4];
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &registers[kEax],
                         &registers[kEbx], &registers[kEcx], &registers[kEdx]))
    return false;
  return registers[feature.where] >> feature.bit & 1;
}

const Feature* find_feature(const std::string& name) {
  for (const Feature& feature : kFeatures)
    if (name == feature.name) return &feature;
  return nullptr;
}

}  // namespace

static bool cpu_has(const std::string& name, bool* known) {
  const Feature* feature = find_feature(name);
  *known = feature != nullptr;
  return feature && has_feature(*feature);
}

#else

static bool cpu_has(const std::string&, bool* known) {
  *known = false;
  return false;
}

#endif

mpc_status_t check_cpu_features(const schema::Variant& variant) {
  const kernels::CpuIsaLimit& limit = kernels::cpu_isa_limit();
  if (!limit.error.empty())
    return mpc_status_make(MPC_INVALID_ARGUMENT, "%s", limit.error.c_str());
  if (!variant.cpu_features()) return nullptr;
  for (const flatbuffers::String* text : *variant.cpu_features()) {
    std::string name = text->str();
    if (!name.empty() && name[0] == '+') name.erase(0, 1);
    if (!name.empty() && name[0] == '-') continue;  // Not used by the code.
    bool known = false;
    const bool has = cpu_has(name, &known);
    if (has && kernels::isa_allows(limit.isa, name)) continue;
    const char* target = variant.cpu() ? variant.cpu()->c_str() : "another CPU";
    if (has)
      return mpc_status_make(
          MPC_INCOMPATIBLE,
          "compiled for '%s': needs the CPU feature '%s', which "
          "MPC_MAX_CPU_ISA=%s excludes; compile the model under that limit or "
          "with another option 'target-cpu', or unset it",
          target, name.c_str(), limit.name);
    return mpc_status_make(
        MPC_INCOMPATIBLE,
        known ? "compiled for '%s': this CPU lacks the feature '%s'; compile "
                "the model on this machine or with another option 'target-cpu'"
              : "compiled for '%s': needs the CPU feature '%s', which this "
                "runtime does not know",
        target, name.c_str());
  }
  return nullptr;
}

}  // namespace mpc::runtime
