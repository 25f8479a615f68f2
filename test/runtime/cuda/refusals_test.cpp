// Rejected programs and devices on CUDA, and the choice of code.

#include <gtest/gtest.h>

#include "test/cuda/test_images.h"
#include "test/runtime/cuda/kernels.h"
#include "test/runtime/cuda/try_on.h"

namespace mpc::test {
namespace {

TEST(CudaFaults, ReportsWhatIsMissing) {
  ProgramPtr program = load(make_package(cuda_package()));
  cuda::replace_driver(nullptr, "cannot load libcuda.so.1: not there");
  Outcome outcome = try_on(program);
  EXPECT_EQ(outcome.code, MPC_UNAVAILABLE);
  EXPECT_EQ(outcome.message,
            "no CUDA driver found (cannot load libcuda.so.1: not there); "
            "install NVIDIA's driver, or use the device 'cpu'");
  CudaSessionOptions options;
  options.device = "auto";
  SessionPtr session = create_on(program, options);
  EXPECT_STREQ(mpc_session_device(session.get()),
               "cpu (no CUDA driver found (cannot load libcuda.so.1: not "
               "there))");
  cuda::replace_driver(nullptr);

  FakeDriverOptions fake_options;
  fake_options.devices = 0;
  FakeDriver fake(fake_options);
  outcome = try_on(program);
  EXPECT_EQ(outcome.code, MPC_UNAVAILABLE);
  EXPECT_EQ(outcome.message,
            "there is no CUDA device on this machine, although the driver is "
            "there");
}

TEST(CudaFaults, KeepsNoCodeInAFolder) {
  FakeDriver fake;
  ProgramPtr program = load(make_package(cuda_package()));
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.device = "cuda";
  options.code_folder = "/tmp";
  mpc_session_t* session = nullptr;
  const Outcome outcome =
      take(mpc_session_create(program.get(), &options, &session));
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message,
            "a folder for compiled code was given, but the session runs on a "
            "GPU; use the device 'cpu'");
}

TEST(CudaFaults, ChoosesTheDevice) {
  FakeDriverOptions fake_options;
  fake_options.devices = 2;
  FakeDriver fake(fake_options);
  add_package_kernels(&fake);
  ProgramPtr both = load(make_package(cuda_package()));
  for (const char* name : {"auto", "cuda", "cuda:1"}) {
    CudaSessionOptions options;
    options.device = name;
    SessionPtr session = create_on(both, options);
    EXPECT_EQ(mpc_session_device(session.get()),
              std::string(name).back() == '1' ? std::string("cuda:1 Fake GPU")
                                              : std::string("cuda:0 Fake GPU"));
  }
  Outcome outcome = try_on(both, "cuda:2");
  EXPECT_EQ(outcome.code, MPC_UNAVAILABLE);
  EXPECT_EQ(outcome.message,
            "there is no device 'cuda:2' on this machine, which has 2, counted "
            "from 0");
  ProgramPtr cpu_only = load(make_package());
  outcome = try_on(cpu_only);
  EXPECT_EQ(outcome.code, MPC_UNAVAILABLE);
  EXPECT_EQ(outcome.message,
            "the package has no code for the device 'cuda'; compile the model "
            "with option 'target'=cuda");
  CudaSessionOptions options;
  options.device = "auto";
  SessionPtr session = create_on(cpu_only, options);
  EXPECT_STREQ(mpc_session_device(session.get()), "cpu");
  EXPECT_EQ(fake.leaks(), "");
}

struct CodeChoice {
  int compute_capability;
  const char* loaded;  // The image for cuModuleLoadDataEx, or the error.
};

TEST(CudaFaults, ChoosesTheCode) {
  TestImages images;
  images.set(false);
  PackageOptions package = cuda_package();
  package.precision = "fp16";
  package.ptx = {"sm_75", "sm_90a", "sm_80"};
  package.cubins = {"sm_90", "sm_80"};
  ProgramPtr program = load(make_package(package));
  const CodeChoice choices[] = {
      {75, "// PTX for sm_75"},
      {80, "cubin for sm_80"},
      {86, "// PTX for sm_80"},
      {90, "cubin for sm_90"},
      {103, "// PTX for sm_80"},
      {70,
       "the package has no code that cuda:0 Fake GPU (sm_70) runs; it has "
       "sm_75 (PTX), sm_80, sm_80 (PTX), sm_90, sm_90a (PTX); compile the "
       "model with option 'target'=cuda:sm_70"},
  };
  for (const CodeChoice& choice : choices) {
    FakeDriverOptions fake_options;
    fake_options.compute_capability = choice.compute_capability;
    FakeDriver fake(fake_options);
    add_package_kernels(&fake);
    Outcome outcome = try_on(program);
    if (outcome.code == MPC_OK) {
      EXPECT_EQ(fake.last_image(), choice.loaded);
    } else {
      EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
      EXPECT_EQ(outcome.message, choice.loaded);
    }
    EXPECT_EQ(fake.leaks(), "");
  }
}

// The driver rejects machine code of a newer ptxas, but accepts the PTX in the
// same package.
TEST(CudaFaults, TakesPtxWhereMachineCodeIsRefused) {
  TestImages images;
  images.set(false);
  PackageOptions package = cuda_package();
  package.precision = "fp16";
  package.ptx = {"sm_75", "sm_80", "sm_90"};
  package.cubins = {"sm_90", "sm_80"};
  ProgramPtr program = load(make_package(package));
  FakeDriverOptions fake_options;
  fake_options.refused = "cubin";
  fake_options.version = 12040;
  {
    FakeDriver fake(fake_options);
    add_package_kernels(&fake);
    SessionPtr session = create_on(program);
    EXPECT_EQ(fake.last_image(), "// PTX for sm_90");
    EXPECT_STREQ(mpc_session_device(session.get()),
                 "cuda:0 Fake GPU (PTX for sm_90 is used, as machine code for "
                 "sm_90 was refused: cuModuleLoadDataEx: "
                 "CUDA_ERROR_NO_BINARY_FOR_GPU (no kernel image is available "
                 "for execution on the device))");
    (void)step(session, 1);
    session.reset();
    EXPECT_EQ(fake.leaks(), "");
  }
  // If the driver rejects everything, the error names all of it.
  package.ptx = {"sm_75"};
  fake_options.refused = "";
  FakeDriver fake(fake_options);
  Outcome outcome = try_on(load(make_package(package)));
  EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
  EXPECT_EQ(outcome.message,
            "cuda:0 Fake GPU takes none of the package's code: machine code "
            "for sm_90 was refused: cuModuleLoadDataEx: "
            "CUDA_ERROR_NO_BINARY_FOR_GPU (no kernel image is available for "
            "execution on the device), PTX for sm_75 was refused: "
            "cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU (no kernel image "
            "is available for execution on the device); update NVIDIA's "
            "driver, which is of CUDA 12.4, or compile the model with an older "
            "ptxas on the path");
  EXPECT_EQ(fake.leaks(), "");
}

// After a failure that is not due to the code, no other code is tried.
TEST(CudaFaults, OtherFailuresOfLoadingEndIt) {
  PackageOptions package = cuda_package();
  package.cubins = {"sm_90"};
  ProgramPtr program = load(make_package(package));
  FakeDriver fake;
  add_package_kernels(&fake);
  for (uint64_t n = 1;; ++n) {
    ASSERT_LT(n, 1000u);
    fake.fail_at(n, cuda::CUDA_ERROR_OUT_OF_MEMORY);
    const Outcome outcome = try_on(program);
    const std::string failed = fake.failed_call();
    fake.fail_at(0);
    if (failed != "cuModuleLoadDataEx") continue;
    EXPECT_EQ(outcome.code, MPC_OUT_OF_MEMORY);
    EXPECT_NE(outcome.message.find("; machine code for sm_90"),
              std::string::npos)
        << outcome.message;
    break;
  }
  EXPECT_EQ(fake.leaks(), "");
}

TEST(CudaFaults, RefusesBf16OnOldDevices) {
  FakeDriverOptions fake_options;
  fake_options.compute_capability = 75;
  FakeDriver fake(fake_options);
  add_package_kernels(&fake);
  PackageOptions package = cuda_package();
  package.ptx = {"sm_75"};
  ProgramPtr program = load(make_package(package));
  Outcome outcome = try_on(program);
  EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
  EXPECT_EQ(outcome.message,
            "the package computes in bf16, which needs compute capability 8.0; "
            "cuda:0 Fake GPU has 7.5; use option 'precision'=fp16");
  CudaSessionOptions options;
  options.device = "auto";
  SessionPtr session = create_on(program, options);
  EXPECT_EQ(std::string(mpc_session_device(session.get())),
            "cpu (" + outcome.message + ")");
  package.precision = "fp16";
  EXPECT_EQ(try_on(load(make_package(package))).code, MPC_OK);
}

TEST(CudaFaults, ReportsErrorsOfTheDriverAboutCode) {
  FakeDriverOptions fake_options;
  fake_options.architecture = "invalid";
  FakeDriver fake(fake_options);
  PackageOptions package = cuda_package();
  package.ptx = {"invalid"};
  Outcome outcome = try_on(load(make_package(package)));
  EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
  EXPECT_EQ(outcome.message,
            "cuda:0 Fake GPU takes none of the package's code: PTX for invalid "
            "was refused: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (a PTX "
            "JIT compilation failed): ptxas application ptx input, line 1; "
            "fatal : no such thing");
  EXPECT_EQ(fake.leaks(), "");
}

TEST(CudaFaults, NamesTheMissingFunction) {
  FakeDriver fake;
  Outcome outcome = try_on(load(make_package(cuda_package())));
  EXPECT_EQ(outcome.code, MPC_DAMAGED);
  EXPECT_EQ(outcome.message,
            "the compiled code lacks the function 'test_gradient'");
  EXPECT_EQ(fake.leaks(), "");
}

}  // namespace
}  // namespace mpc::test
