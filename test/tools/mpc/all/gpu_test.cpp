// The GPU report of `mpc doctor`, with fake library tables.

#include "tools/mpc/base/Gpu.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mpc::tool;
using namespace mpc::cuda;
using Json = nlohmann::ordered_json;

namespace {

struct Gpu {
  const char *name;
  int major, minor;
};

/// The GPUs of the fake driver, and the driver call that fails.
std::vector<Gpu> gpus;
std::string failing;
int version = 13010;

CUresult resultOf(const char *call) {
  return failing == call ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

Driver makeDriver() {
  Driver driver = {};
  driver.cuInit = [](unsigned) {
    return gpus.empty() ? CUDA_ERROR_NO_DEVICE : resultOf("cuInit");
  };
  driver.cuDriverGetVersion = [](int *version) {
    *version = ::version;
    return resultOf("cuDriverGetVersion");
  };
  driver.cuGetErrorName = [](CUresult error, const char **text) {
    *text = error == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE"
                                          : "CUDA_ERROR_UNKNOWN";
    return CUDA_SUCCESS;
  };
  driver.cuGetErrorString = [](CUresult, const char **text) {
    *text = "a reason";
    return CUDA_SUCCESS;
  };
  driver.cuDeviceGetCount = [](int *count) {
    *count = static_cast<int>(gpus.size());
    return resultOf("cuDeviceGetCount");
  };
  driver.cuDeviceGet = [](CUdevice *device, int index) {
    *device = index;
    return resultOf("cuDeviceGet");
  };
  driver.cuDeviceGetName = [](char *name, int size, CUdevice device) {
    std::strncpy(name, gpus[device].name, size);
    return resultOf("cuDeviceGetName");
  };
  driver.cuDeviceTotalMem_v2 = [](size_t *bytes, CUdevice) {
    *bytes = size_t(80) << 30;
    return resultOf("cuDeviceTotalMem_v2");
  };
  driver.cuDeviceGetAttribute = [](int *value, CUdevice_attribute attribute,
                                   CUdevice device) {
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = gpus[device].major;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = gpus[device].minor;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = 1980000;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
    return resultOf("cuDeviceGetAttribute");
  };
  return driver;
}

class GpuReport : public ::testing::Test {
protected:
  GpuReport() {
    gpus = {{"NVIDIA H200", 9, 0}};
    failing.clear();
    version = 13010;
    libraries.imagesVersion = 13000;
    driver = makeDriver();
    cublaslt.cublasLtGetVersion = []() -> size_t { return 130002; };
    cudnn.cudnnGetVersion = []() -> size_t { return 91400; };
    nccl.ncclGetVersion = [](int *version) {
      *version = 22703;
      return ncclSuccess;
    };
    libraries.driver.table = &driver;
    libraries.cublaslt.table = &cublaslt;
    libraries.cudnn.table = &cudnn;
    libraries.nccl.table = &nccl;
  }

  Driver driver;
  CublasLt cublaslt = {};
  Cudnn cudnn = {};
  Nccl nccl = {};
  GpuLibraries libraries;
};

TEST_F(GpuReport, AllIsThere) {
  Json json = describeGpus(libraries);
  EXPECT_EQ(json["driver"]["version"], "13.1");
  EXPECT_NE(json["driver"]["file"], "");
  ASSERT_EQ(json["devices"].size(), 1u);
  const Json &device = json["devices"][0];
  EXPECT_EQ(device["name"], "NVIDIA H200");
  EXPECT_EQ(device["compute_capability"], "9.0");
  EXPECT_EQ(device["architecture"], "sm_90");
  EXPECT_EQ(device["memory"], uint64_t(80) << 30);
  EXPECT_EQ(device["multiprocessors"], 132);
  EXPECT_EQ(device["clock_mhz"], 1980);
  EXPECT_EQ(device["bf16"], true);
  EXPECT_EQ(device["fp8"], true);
  EXPECT_EQ(json["libraries"]["cuBLASLt"]["version"], "13.0.2");
  EXPECT_EQ(json["libraries"]["cuDNN"]["version"], "9.14.0");
  EXPECT_EQ(json["libraries"]["NCCL"]["version"], "2.27.3");
  EXPECT_EQ(json["kernels"]["version"], "13.0");
  EXPECT_EQ(json["kernels"]["loaded_as"], "machine code");
  EXPECT_EQ(json["missing"], Json::array());
  EXPECT_EQ(json["notes"], Json::array());
  EXPECT_EQ(json["ready"], true);
}

/// A driver of CUDA 12 rejects machine code of CUDA 13 and does not start its
/// libraries; it compiles PTX.
TEST_F(GpuReport, AnOlderDriverIsComparedWithWhatItLoads) {
  version = 12040;
  Json tools = {{"nvcc", nullptr},
                {"ptxas", {{"version", "13.0"}, {"file", "/bin/ptxas"}}}};
  Json json = describeGpus(libraries, tools);
  EXPECT_EQ(json["kernels"]["loaded_as"], "PTX");
  ASSERT_EQ(json["notes"].size(), 2u);
  EXPECT_EQ(json["notes"][0],
            "the driver supports CUDA 12.4, older than the nvcc 13.0 that "
            "compiled the mpc kernels: it compiles their PTX when a session "
            "starts");
  EXPECT_NE(json["notes"][1].get<std::string>().find("older than ptxas 13.0"),
            std::string::npos);
  EXPECT_EQ(json["ready"], false);
  ASSERT_EQ(json["missing"].size(), 1u);
  EXPECT_EQ(json["missing"][0].get<std::string>().find(
                "cuBLASLt for CUDA 12.4: the installed one does not start on "
                "this driver; "),
            0u)
      << json["missing"][0];
  ::testing::internal::CaptureStdout();
  printGpus(json, tools);
  std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("mpc kernels    compiled with nvcc 13.0 (PTX)\n"),
            std::string::npos)
      << text;

  cublaslt.cublasLtGetVersion = []() -> size_t { return 120401; };
  tools["ptxas"]["version"] = "12.8";
  libraries.imagesVersion = 12080;
  json = describeGpus(libraries, tools);
  EXPECT_EQ(json["kernels"]["loaded_as"], "machine code");
  EXPECT_EQ(json["notes"], Json::array());
  EXPECT_EQ(json["missing"], Json::array());
  EXPECT_EQ(json["ready"], true);
}

TEST_F(GpuReport, ABuildWithoutNvccLacksKernels) {
  libraries.imagesVersion = 0;
  Json json = describeGpus(libraries);
  EXPECT_EQ(json["kernels"]["version"], nullptr);
  ASSERT_EQ(json["missing"].size(), 1u);
  EXPECT_EQ(json["missing"][0], "mpc's built-in CUDA kernels, for pooling and "
                                "embeddings: build mpc with nvcc on the path");
}

TEST_F(GpuReport, PrintsAllThatIsThere) {
  Json tools = {{"nvcc", nullptr},
                {"ptxas", {{"version", "13.0"}, {"file", "/bin/ptxas"}}}};
  ::testing::internal::CaptureStdout();
  printGpus(describeGpus(libraries), tools);
  std::string text = ::testing::internal::GetCapturedStdout();
  for (const char *line :
       {"CUDA driver    13.1, ",
        "GPU 0          NVIDIA H200, sm_90, 85.9 GB, 132 multiprocessors at "
        "1980 MHz\n",
        "  computes in  fp32, tf32, fp16, bf16, fp8\n",
        "cuDNN          9.14.0, ", "nvcc           not on the path\n",
        "ptxas          13.0, /bin/ptxas\n",
        "training       ready for --device=cuda\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST_F(GpuReport, TellsOldGpusApart) {
  gpus = {{"NVIDIA A100", 8, 0}, {"Tesla T4", 7, 5}, {"Tesla P100", 6, 0}};
  Json json = describeGpus(libraries);
  ASSERT_EQ(json["devices"].size(), 3u);
  EXPECT_EQ(json["devices"][0]["bf16"], true);
  EXPECT_EQ(json["devices"][0]["fp8"], false);
  EXPECT_EQ(json["devices"][1]["bf16"], false);
  EXPECT_EQ(json["devices"][1]["usable"], true);
  EXPECT_EQ(json["devices"][2]["usable"], false);
  EXPECT_EQ(json["ready"], true);
  ::testing::internal::CaptureStdout();
  printGpus(json, Json::object());
  std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("bf16 needs sm_80: compile with --precision=fp16"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("none: mpc needs sm_70 or newer"), std::string::npos)
      << text;

  gpus = {{"Tesla P100", 6, 0}};
  json = describeGpus(libraries);
  EXPECT_EQ(json["ready"], false);
  EXPECT_EQ(json["missing"][0],
            "no GPU is sm_70 or newer: train with --device=cpu");
}

TEST_F(GpuReport, NothingIsThere) {
  libraries = {};
  libraries.driver.missing = "cannot load libcuda.so.1: no such file";
  libraries.cublaslt.missing = "cannot load libcublasLt.so.13: no such file";
  libraries.cudnn.missing = "cannot load libcudnn.so.9: no such file";
  libraries.nccl.missing = "cannot load libnccl.so.2: no such file";
  Json json = describeGpus(libraries);
  EXPECT_EQ(json["ready"], false);
  EXPECT_EQ(json["devices"], Json::array());
  EXPECT_EQ(json["driver"]["missing"],
            "cannot load libcuda.so.1: no such file");
  EXPECT_EQ(json["libraries"]["NCCL"]["missing"],
            "cannot load libnccl.so.2: no such file");
  // NCCL is for several GPUs; the report does not ask to install it.
  ASSERT_EQ(json["missing"].size(), 3u);
  EXPECT_EQ(json["missing"][0].get<std::string>().find(
                "CUDA driver: install NVIDIA's driver"),
            0u);
  EXPECT_NE(json["missing"][1].get<std::string>().find("nvidia-cublas"),
            std::string::npos);
  EXPECT_NE(json["missing"][2].get<std::string>().find("nvidia-cudnn-cu13"),
            std::string::npos);
  ::testing::internal::CaptureStdout();
  printGpus(json, Json::object());
  std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("training       not possible with --device=cuda\n"),
            std::string::npos)
      << text;
}

TEST_F(GpuReport, ADriverWithoutGpus) {
  gpus.clear();
  Json json = describeGpus(libraries);
  EXPECT_EQ(json["driver"]["version"], "13.1");
  EXPECT_EQ(json["ready"], false);
  ASSERT_EQ(json["missing"].size(), 1u);
  EXPECT_EQ(json["missing"][0],
            "the driver finds no GPU: a container needs --gpus=all, and "
            "CUDA_VISIBLE_DEVICES must not be empty");
}

TEST_F(GpuReport, EveryCallThatFailsIsNamed) {
  for (const char *call :
       {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet",
        "cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute"}) {
    failing = call;
    Json json = describeGpus(libraries);
    EXPECT_EQ(json["ready"], false) << call;
    ASSERT_EQ(json["missing"].size(), 1u) << call;
    EXPECT_EQ(json["missing"][0].get<std::string>().find(
                  std::string(call) + ": CUDA_ERROR_UNKNOWN (a reason): "),
              0u)
        << json["missing"][0];
  }
}

TEST_F(GpuReport, WithoutCuDnnOnlyConvolutionsAreMissing) {
  libraries.cudnn = {nullptr, "cannot load libcudnn.so.9: no such file"};
  Json json = describeGpus(libraries);
  EXPECT_EQ(json["ready"], true);
  ASSERT_EQ(json["missing"].size(), 1u);
  EXPECT_EQ(
      json["missing"][0].get<std::string>().find("cuDNN, for convolutions: "),
      0u);
}

} // namespace
