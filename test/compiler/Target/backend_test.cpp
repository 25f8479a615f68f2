//===- backend_test.cpp - The rows of devices and their backends ----------===//

#include "compiler/Target/Backend.h"

#include <gtest/gtest.h>

using namespace mpc;

namespace {

std::string refusal(const Backend &backend, const TargetRequest &request) {
  auto target = backend.findTarget(request);
  return target ? "" : llvm::toString(target.takeError());
}

TEST(Backends, KnowTheArchitecturesOfTheirRows) {
  ASSERT_FALSE(backends().empty());
  EXPECT_EQ(defaultBackend(), backends().front().get());
  for (const auto &backend : backends()) {
    EXPECT_EQ(findBackend(backend->name()), backend.get());
    for (const std::string &architecture : backend->architectures())
      EXPECT_EQ(refusal(*backend, {{architecture}}), "");
    TargetRequest bare;
    if (!backend->architectures().empty())
      bare.architectures = {backend->defaultArchitecture()};
    EXPECT_EQ(refusal(*backend, bare), "");
    EXPECT_EQ(refusal(*backend, {{"abacus"}}),
              "unknown target '" + backend->name().str() + ":abacus'");
  }
  EXPECT_EQ(findBackend("abacus"), nullptr);
}

// Code for several architectures uses the features of the oldest.
TEST(Backends, UseWhatTheOldestArchitectureHas) {
  auto target = findBackend("cuda")->findTarget({{"sm_90", "sm_75"}});
  ASSERT_TRUE(bool(target));
  EXPECT_EQ((*target)->features, (std::vector<std::string>{"sm_70", "sm_75"}));
}

TEST(Backends, GainByFp8WhereUnitsMultiplyIt) {
  auto gains = [](std::vector<std::string> architectures) {
    const Backend *cuda = findBackend("cuda");
    auto target = cuda->findTarget({std::move(architectures)});
    EXPECT_TRUE(bool(target));
    return target && cuda->gainsByFp8((*target)->features);
  };
  EXPECT_TRUE(gains({"sm_90"}));
  EXPECT_FALSE(gains({"sm_90", "sm_80"}));
  EXPECT_FALSE(gains({"sim"}));
  EXPECT_FALSE(defaultBackend()->gainsByFp8({}));
}

} // namespace
