// Compares programs on the CPU and on a GPU. mpc-make-gpu-programs writes them;
// those for the simulator run on a fake driver in host memory.
//
// MPC_GPU_PROGRAMS names another folder with programs. Without programs, there
// is no device to run them on, and nothing is tested.

#ifndef MPC_TEST_CUDA_PROGRAMS_PROGRAMS_H_
#define MPC_TEST_CUDA_PROGRAMS_PROGRAMS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "kernels/float_types.h"
#include "mpc/runtime.hpp"
#include "test/cuda/programs/simulated.h"

namespace mpc::test {

namespace fs = std::filesystem;

inline std::string folder() {
  const char* given = std::getenv("MPC_GPU_PROGRAMS");
  return given ? given : MPC_TEST_GPU_PROGRAMS;
}

inline bool is_simulated() {
  std::ifstream file(folder() + "/architecture");
  std::string name;
  file >> name;
  return name.rfind("sim", 0) == 0;
}

inline std::vector<std::string> programs(const std::string& prefix,
                                         const std::string& part = "") {
  std::vector<std::string> names;
  if (!fs::exists(folder())) return names;
  for (const auto& entry : fs::directory_iterator(folder())) {
    std::string name = entry.path().stem();
    if (entry.path().extension() == ".mpc" && name.rfind(prefix, 0) == 0 &&
        name.find(part) != std::string::npos)
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The elements of one tensor, in memory order.
struct Values {
  mpc_binding_info_t info;
  std::vector<uint8_t> bytes;

  explicit Values(const mpc_binding_info_t& info) : info(info) {
    size_t size = mpc_dtype_size(info.dtype);
    for (uint32_t i = 0; i < info.rank; ++i)
      size *= static_cast<size_t>(info.shape[i]);
    bytes.resize(size);
  }
  size_t count() const { return bytes.size() / mpc_dtype_size(info.dtype); }

  template <typename T>
  T& as(size_t i) {
    return reinterpret_cast<T*>(bytes.data())[i];
  }
  double get(size_t i) {
    switch (info.dtype) {
      case MPC_DTYPE_F32:
        return as<float>(i);
      case MPC_DTYPE_BF16:
        return as<kernels::Bf16>(i);
      case MPC_DTYPE_F16:
        return as<kernels::F16>(i);
      default:
        return as<uint8_t>(i);
    }
  }
  void set(size_t i, double value) {
    switch (info.dtype) {
      case MPC_DTYPE_F32:
        as<float>(i) = static_cast<float>(value);
        break;
      case MPC_DTYPE_BF16:
        as<kernels::Bf16>(i) = static_cast<float>(value);
        break;
      case MPC_DTYPE_F16:
        as<kernels::F16>(i) = static_cast<float>(value);
        break;
      case MPC_DTYPE_I64:
        as<int64_t>(i) = std::abs(static_cast<int64_t>(value * 1000)) % 3;
        break;
      default:
        as<uint8_t>(i) = value > 0;
    }
  }
  mpc_tensor_t tensor() {
    return {sizeof(mpc_tensor_t), info.dtype,   info.rank,
            info.shape,           bytes.data(), {MPC_DEVICE_HOST, 0}};
  }
};

inline std::vector<Values> values_of(
    const std::vector<mpc_binding_info_t>& infos) {
  return {infos.begin(), infos.end()};
}

inline std::vector<mpc_tensor_t> tensors_of(std::vector<Values>& values) {
  std::vector<mpc_tensor_t> tensors;
  for (Values& value : values) tensors.push_back(value.tensor());
  return tensors;
}

// Relative to the larger of 1 and the value, because sums may cancel.
inline double tolerance_of(mpc_dtype_t dtype) {
  if (dtype == MPC_DTYPE_BF16) return 0x1p-7;
  return dtype == MPC_DTYPE_F16 ? 0x1p-9 : 2e-5;
}

class Programs : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (is_simulated()) simulated_ = std::make_unique<SimulatedDevice>();
    Status status = program_.load_file(folder() + "/" + GetParam() + ".mpc");
    ASSERT_FALSE(status) << status.message();
    mpc_session_options_t options = {};
    options.device = "cuda";
    options.seed = 5;
    Status opened = gpu_.create(program_, options);
    if (opened && opened.code() == MPC_UNAVAILABLE && !simulated_)
      GTEST_SKIP() << opened.message();
    ASSERT_FALSE(opened) << opened.message();
    options.device = "cpu";
    Status cpu = cpu_.create(program_, options);
    ASSERT_FALSE(cpu) << cpu.message();
  }

  std::unique_ptr<SimulatedDevice> simulated_;  // Outlives the sessions.
  Program program_;
  Session gpu_, cpu_;
};

inline std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_PROGRAMS_PROGRAMS_H_
