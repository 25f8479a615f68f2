// Limits the instruction sets that may be used. The environment variable
// MPC_MAX_CPU_ISA names a level, by oneDNN's names. Instructions above it count
// as missing for the compiler's target "native", for the check of what a
// package requires, and for kernels. This allows one machine to emulate older
// ones.

#ifndef MPC_KERNELS_CPU_ISA_H_
#define MPC_KERNELS_CPU_ISA_H_

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace mpc::kernels {

// Each level includes those before it.
enum class CpuIsa { avx2, avx512_core, avx512_core_bf16, all };

struct CpuIsaLevel {
  CpuIsa isa;
  const char* name;
  // The vector features that the level adds, by LLVM's names.
  std::array<std::string_view, 5> features;
};

inline constexpr CpuIsaLevel kCpuIsaLevels[] = {
    {CpuIsa::avx2, "AVX2", {"avx", "avx2"}},
    {CpuIsa::avx512_core,
     "AVX512_CORE",
     {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}},
    {CpuIsa::avx512_core_bf16,
     "AVX512_CORE_BF16",
     {"avx512bf16", "avx512vnni"}},
};

struct CpuIsaLimit {
  CpuIsa isa = CpuIsa::all;
  const char* name = nullptr;  // As written in the variable; null if unset.
  std::string error;           // Why the variable's value is invalid.
};

// The level of that name; no limit for null or "".
inline CpuIsaLimit parse_cpu_isa(const char* text) {
  CpuIsaLimit limit;
  if (!text || !*text) return limit;
  std::string known;
  for (const CpuIsaLevel& level : kCpuIsaLevels) {
    if (std::string_view(text) == level.name)
      return {level.isa, level.name, ""};
    known += (known.empty() ? "" : ", ") + std::string(level.name);
  }
  limit.error = "MPC_MAX_CPU_ISA is '" + std::string(text) +
                "', which is not an instruction level; use " + known +
                ", or unset it";
  return limit;
}

// The limit from the environment, read only once, because oneDNN's limit cannot
// change after its first use.
inline const CpuIsaLimit& cpu_isa_limit() {
  static const CpuIsaLimit limit =
      parse_cpu_isa(std::getenv("MPC_MAX_CPU_ISA"));
  return limit;
}

// Whether instructions of that feature (LLVM's name) may be used. Levels do not
// restrict features other than AVX, such as "bmi2" or "sse4.2".
inline bool isa_allows(CpuIsa isa, std::string_view feature) {
  const bool vector =
      feature.substr(0, 3) == "avx" || feature.substr(0, 3) == "amx";
  if (isa == CpuIsa::all || !vector) return true;
  for (const CpuIsaLevel& level : kCpuIsaLevels)
    for (std::string_view added : level.features)
      if (level.isa <= isa && added == feature) return true;
  return false;
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CPU_ISA_H_
