// Lists of targets, and the precisions that they support.

#include "tools/mpc/Command.h"
#include "tools/mpc/options/Targets.h"

#include <gtest/gtest.h>

using namespace mpc::tool;

namespace {

/// The normalized list; "error: " and the reason if it is rejected.
std::string read(std::string list) {
  std::string error = TargetList()(list);
  return error.empty() ? list : "error: " + error;
}

std::string refusal(const std::vector<std::string> &targets,
                    const std::string &precision) {
  try {
    checkPrecision(targets, precision);
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.exitCode, Usage);
    return failure.what();
  }
  return "";
}

TEST(Targets, AreWrittenOut) {
  EXPECT_EQ(read("cpu"), "cpu");
  EXPECT_EQ(read("cuda"), "cuda:sm_80");
  EXPECT_EQ(read("cpu,cuda"), "cpu,cuda:sm_80");
  EXPECT_EQ(read("cuda:sm_100,cpu,cuda:sm_90"), "cuda:sm_100,cpu,cuda:sm_90");
  EXPECT_EQ(splitTargets("cpu,cuda:sm_80"),
            (std::vector<std::string>{"cpu", "cuda:sm_80"}));
}

TEST(Targets, EveryKnownArchitectureIsTaken) {
  for (const char *name :
       {"70", "75", "80", "86", "87", "89", "90", "100", "103", "120"}) {
    std::string target = std::string("cuda:sm_") + name;
    EXPECT_EQ(read(target), target);
  }
}

TEST(Targets, UnknownOnesAreRefusedWithTheList) {
  auto refused = [](const std::string &target) {
    return "error: unknown target '" + target +
           "'; use a comma-separated list of cpu, cuda, reference and "
           "cuda:sm_N (N = 70, 75, 80, 86, 87, 89, 90, 100, 103 or 120)";
  };
  EXPECT_EQ(read("cdua"), refused("cdua") + "; did you mean 'cuda'?");
  EXPECT_EQ(read("cpu,cuda:sm_9O"),
            refused("cuda:sm_9O") + "; did you mean 'cuda:sm_90'?");
  EXPECT_EQ(read("cuda:90"),
            refused("cuda:90") + "; did you mean 'cuda:sm_90'?");
  EXPECT_EQ(read("sm_86"), refused("sm_86") + "; did you mean 'cuda:sm_86'?");
  EXPECT_EQ(read("cuda:sm_9"),
            refused("cuda:sm_9") + "; did you mean 'cuda:sm_90'?");
  EXPECT_EQ(read("CPU"), refused("CPU") + "; did you mean 'cpu'?");
  EXPECT_EQ(read(""), refused(""));
  EXPECT_EQ(read("cpu,"), refused(""));
  EXPECT_EQ(read("cpu, cuda"), refused(" cuda") + "; did you mean 'cuda'?");
}

TEST(Targets, EachIsNamedOnce) {
  EXPECT_EQ(read("cpu,cpu"), "error: names 'cpu' twice");
  EXPECT_EQ(read("cuda:sm_90,cuda:sm_90"), "error: names 'cuda:sm_90' twice");
  EXPECT_EQ(read("cuda,cuda:sm_80"),
            "error: names 'cuda:sm_80' twice; 'cuda' stands for it");
}

TEST(Targets, ComputeInWhatTheirArithmeticHas) {
  EXPECT_EQ(refusal({"cpu"}, "fp64"), "");
  EXPECT_EQ(refusal({"cpu", "cuda:sm_80"}, "bf16"), "");
  EXPECT_EQ(refusal({"cuda:sm_100"}, "bf16"), "");
  EXPECT_EQ(refusal({"cuda:sm_70", "cuda:sm_75"}, "fp16"), "");
  EXPECT_EQ(refusal({"cuda:sm_75"}, "fp32"), "");
  EXPECT_EQ(refusal({"cpu", "cuda:sm_90", "cuda:sm_75"}, "bf16"),
            "--precision=bf16 needs sm_80 or newer: GPUs of "
            "--target=cuda:sm_75 do not multiply in bf16; give "
            "--precision=fp16 or --target=cuda:sm_80");
  EXPECT_EQ(refusal({"cpu", "cuda:sm_80"}, "fp64"),
            "--precision=fp64 is for gradient checks on the CPU; "
            "--target=cuda:sm_80 computes in fp32 at most");
}

} // namespace
