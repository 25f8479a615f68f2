// MPC_MAX_CPU_ISA: which instructions count as available.

#include "kernels/cpu_isa.h"

#include <gtest/gtest.h>

#include "test/kernels/cases.h"
#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

TEST(CpuIsa, EmptyValueMeansNoLimit) {
  for (const char* text : {static_cast<const char*>(nullptr), ""}) {
    const CpuIsaLimit limit = parse_cpu_isa(text);
    EXPECT_EQ(limit.isa, CpuIsa::all);
    EXPECT_EQ(limit.name, nullptr);
    EXPECT_EQ(limit.error, "");
  }
}

TEST(CpuIsa, LevelsAreKnownByName) {
  for (const CpuIsaLevel& level : kCpuIsaLevels) {
    const CpuIsaLimit limit = parse_cpu_isa(level.name);
    EXPECT_EQ(limit.isa, level.isa);
    EXPECT_STREQ(limit.name, level.name);
    EXPECT_EQ(limit.error, "");
  }
}

TEST(CpuIsa, OtherValuesAreErrorsThatListTheLevels) {
  for (const char* text : {"avx2", "AVX512", " AVX2", "ALL"})
    EXPECT_EQ(parse_cpu_isa(text).error,
              "MPC_MAX_CPU_ISA is '" + std::string(text) +
                  "', which is not an instruction level; use AVX2, "
                  "AVX512_CORE, AVX512_CORE_BF16, or unset it");
}

TEST(CpuIsa, LevelsIncludeThoseBelow) {
  const auto allowed = [](std::string_view feature) {
    std::string levels;
    for (const CpuIsaLevel& level : kCpuIsaLevels)
      if (isa_allows(level.isa, feature))
        levels += levels.empty() ? level.name : std::string(" ") + level.name;
    EXPECT_TRUE(isa_allows(CpuIsa::all, feature));
    return levels;
  };
  const std::string all = "AVX2 AVX512_CORE AVX512_CORE_BF16";
  for (const char* feature : {"sse4.2", "fma", "f16c", "bmi2", "avx", "avx2"})
    EXPECT_EQ(allowed(feature), all) << feature;
  for (const char* feature :
       {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})
    EXPECT_EQ(allowed(feature), "AVX512_CORE AVX512_CORE_BF16") << feature;
  for (const char* feature : {"avx512bf16", "avx512vnni"})
    EXPECT_EQ(allowed(feature), "AVX512_CORE_BF16") << feature;
  for (const char* feature : {"avxvnni", "avx512vbmi", "avx512fp16", "amx-tile",
                              "amx-bf16", "avx10.1", ""})
    EXPECT_EQ(allowed(feature), *feature ? "" : all) << feature;
}

// Tests nothing without a limit; tools/test.sh sets several.
TEST(CpuIsa, KernelsStayBelowTheLimit) {
  std::string above;
  if (!isa_allows(cpu_isa_limit().isa, "avx512f"))
    above = "avx512";
  else if (!isa_allows(cpu_isa_limit().isa, "avx512bf16"))
    above = "avx512_core_bf16";
  if (above.empty()) GTEST_SKIP() << "no limit that a name would tell";
  for (const Types type : {Types{MPC_DTYPE_F32, MPC_DTYPE_F32},
                           Types{MPC_DTYPE_F16, MPC_DTYPE_F16},
                           Types{MPC_DTYPE_BF16, MPC_DTYPE_BF16}}) {
    std::vector<KernelDesc> calls = {
        matmul_desc(kMatmuls[4], false, false, type)};
    for (KernelId id : kConvKernels)
      if (allowed(id, type))
        calls.push_back(
            conv_desc(id, kConvs[2], true, type.dtype, type.result));
    for (const KernelDesc& desc : calls) {
      SCOPED_TRACE(describe(desc, {1, false}));
      const auto kernel = must_make(desc, {1, false});
      ASSERT_TRUE(kernel);
      EXPECT_EQ(kernel->implementation().find(above), std::string::npos)
          << kernel->implementation();
    }
  }
}

}  // namespace
}  // namespace mpc::kernels::testing
