// mpc-gpu-bench PACKAGE --data=FILE.npz [OPTIONS]: our side of gpu.py. Prints
// one line of JSON when it is ready, then one for each line on stdin:
//
//   steps N    seconds of N steps, until the last one has finished
//   losses N   the losses of N steps
//
// The arrays of FILE.npz are one batch, named like the inputs.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cuda/driver/driver.h"
#include "mpc/runtime.hpp"
#include "tools/npz/Npz.h"

namespace {

constexpr const char* kUsage =
    "usage: mpc-gpu-bench PACKAGE --data=FILE.npz [OPTIONS]\n"
    "  --weights=FILE.npz   parameters to begin with, by name\n"
    "  --device=NAME        cpu, cuda or cuda:N (default: cuda)\n"
    "  --inputs=WHERE       host or device: where batches lie (default: host)\n"
    "  --part=PART          step or apply: what is timed (default: step)\n"
    "  --threads=N          of the cpu; 0: all (default)\n"
    "  --warm-up=N          steps before all others (default: 10)\n";

struct Options {
  std::string package, data, weights, device = "cuda", inputs = "host",
                                      part = "step";
  unsigned threads = 0;
  int warm_up = 10;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check(mpc::Status status) {
  if (status) throw std::runtime_error(status.message());
}

mpc_dtype_t dtype_of(const mpc::npz::Array& array) {
  if (array.dtype == "float32") return MPC_DTYPE_F32;
  if (array.dtype == "int64") return MPC_DTYPE_I64;
  throw std::runtime_error(array.name + ": " + array.dtype +
                           " is neither float32 nor int64");
}

mpc_tensor_t view_of(mpc::npz::Array& array) {
  return {sizeof(mpc_tensor_t),
          dtype_of(array),
          static_cast<uint32_t>(array.shape.size()),
          array.shape.data(),
          array.data.data(),
          {MPC_DEVICE_HOST, 0}};
}

// GPU memory for inputs that are there before a step. Never freed, because the
// process ends with the benchmark.
class GpuMemory {
 public:
  explicit GpuMemory(int index) : index_(index) {
    std::string missing;
    driver_ = mpc::cuda::load_driver(&missing);
    if (!driver_) throw std::runtime_error(missing);
    mpc::cuda::CUdevice device = 0;
    mpc::cuda::CUcontext context = nullptr;
    must("cuInit", driver_->cuInit(0));
    must("cuDeviceGet", driver_->cuDeviceGet(&device, index));
    must("cuDevicePrimaryCtxRetain",
         driver_->cuDevicePrimaryCtxRetain(&context, device));
    must("cuCtxSetCurrent", driver_->cuCtxSetCurrent(context));
  }

  // Moves the bytes of a tensor to GPU memory.
  void take(mpc_tensor_t* tensor, size_t bytes) {
    mpc::cuda::CUdeviceptr memory = 0;
    must("cuMemAlloc_v2", driver_->cuMemAlloc_v2(&memory, bytes));
    must("cuMemcpyHtoDAsync_v2",
         driver_->cuMemcpyHtoDAsync_v2(memory, tensor->data, bytes, nullptr));
    must("cuStreamSynchronize", driver_->cuStreamSynchronize(nullptr));
    tensor->data = reinterpret_cast<void*>(memory);
    tensor->device = {MPC_DEVICE_CUDA, index_};
  }

 private:
  void must(const char* call, mpc::cuda::CUresult result) {
    if (result != mpc::cuda::CUDA_SUCCESS)
      throw std::runtime_error(
          mpc::cuda::describe_error(*driver_, call, result));
  }

  const int index_;
  const mpc::cuda::Driver* driver_ = nullptr;
};

// Removes characters that JSON would need to escape.
std::string plain(std::string text) {
  for (char& c : text)
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = ' ';
  return text;
}

class Benchmark {
 public:
  explicit Benchmark(const Options& options) : options_(options) {
    check(program_.load_file(options.package));
    accumulates_ = !program_.has_entry("step");
    if (options.part == "apply" && !accumulates_)
      throw std::runtime_error(options.package +
                               ": --part=apply needs a package compiled with "
                               "--accumulate");
    mpc_session_options_t session = {};
    session.device = options.device.c_str();
    session.threads = options.threads;
    session.asynchronous = 1;
    check(session_.create(program_, session));
    if (!options.weights.empty()) set_weights();
    set_inputs();
  }

  // A description of the device.
  std::string device() const { return plain(session_.device()); }
  // The library kernels as a JSON array; empty if there are none.
  std::string kernels() const {
    std::string list;
    for (const mpc_kernel_info_t& info : session_.kernels())
      list += std::string(list.empty() ? "" : ", ") + "\"" +
              std::to_string(info.calls) + " x " + info.kernel + " '" +
              plain(info.instruction) + "': " + plain(info.implementation) +
              "\"";
    return list.empty() ? "" : "[" + list + "]";
  }

  // Seconds of `count` steps, or of `count` updates alone.
  double time(int count) {
    if (options_.part == "apply") return time_updates(count);
    Clock::time_point begin = Clock::now();
    mpc_step_info_t info = {};
    for (int i = 0; i < count; ++i) check(session_.step(inputs_, &info));
    check(session_.synchronize(&info));
    return seconds_since(begin);
  }

  std::vector<float> losses(int count) {
    std::vector<float> found;
    mpc_step_info_t info = {};
    for (int i = 0; i < count; ++i) {
      check(session_.step(inputs_, &info));
      check(session_.synchronize(&info));
      found.push_back(info.loss);
    }
    return found;
  }

 private:
  void set_weights() {
    for (mpc::npz::Array& array : mpc::npz::read(options_.weights))
      check(session_.write_state(array.name.c_str(), view_of(array)));
  }

  void set_inputs() {
    batch_ = mpc::npz::read(options_.data);
    for (const mpc_binding_info_t& input :
         program_.inputs(accumulates_ ? "accumulate" : "step")) {
      mpc::npz::Array* found = nullptr;
      for (mpc::npz::Array& array : batch_)
        if (array.name == input.name) found = &array;
      if (!found)
        throw std::runtime_error(options_.data + ": has no array '" +
                                 input.name + "'");
      inputs_.push_back(view_of(*found));
    }
    // The memory of the CPU is that of the host.
    if (options_.inputs == "host" || options_.device == "cpu") return;
    size_t colon = options_.device.find(':');
    GpuMemory memory(colon == std::string::npos
                         ? 0
                         : std::atoi(options_.device.c_str() + colon + 1));
    for (size_t i = 0; i < inputs_.size(); ++i)
      for (const mpc::npz::Array& array : batch_)
        if (array.data.data() == inputs_[i].data)
          memory.take(&inputs_[i], array.data.size());
  }

  // Each call returns when the device has finished, so the time of each update
  // includes a synchronisation.
  double time_updates(int count) {
    double seconds = 0;
    std::vector<mpc_tensor_t> unwanted(
        program_.outputs("apply").size(),
        {sizeof(mpc_tensor_t), MPC_DTYPE_F32, 0, nullptr, nullptr, {}});
    std::vector<mpc_tensor_t> unwanted_losses(
        program_.outputs("accumulate").size(), unwanted.front());
    for (int i = 0; i < count; ++i) {
      check(session_.run("accumulate", inputs_, unwanted_losses));
      Clock::time_point begin = Clock::now();
      check(session_.run("apply", {}, unwanted));
      seconds += seconds_since(begin);
    }
    return seconds;
  }

  const Options& options_;
  mpc::Program program_;
  mpc::Session session_;
  mpc::npz::Arrays batch_;
  std::vector<mpc_tensor_t> inputs_;
  bool accumulates_ = false;
};

bool take(const char* text, const char* name, std::string* value) {
  size_t length = std::strlen(name);
  if (std::strncmp(text, name, length) != 0) return false;
  *value = text + length;
  return true;
}

bool parse(int argc, char** argv, Options* options) {
  std::string number;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-' && options->package.empty())
      options->package = argv[i];
    else if (take(argv[i], "--threads=", &number))
      options->threads = static_cast<unsigned>(std::atoi(number.c_str()));
    else if (take(argv[i], "--warm-up=", &number))
      options->warm_up = std::atoi(number.c_str());
    else if (!take(argv[i], "--data=", &options->data) &&
             !take(argv[i], "--weights=", &options->weights) &&
             !take(argv[i], "--device=", &options->device) &&
             !take(argv[i], "--inputs=", &options->inputs) &&
             !take(argv[i], "--part=", &options->part))
      return false;
  }
  return !options->package.empty() && !options->data.empty() &&
         (options->inputs == "host" || options->inputs == "device") &&
         (options->part == "step" || options->part == "apply");
}

// Answers one line; returns false if it is not a command.
bool answer(Benchmark& bench, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  int count = 0;
  if (!(words >> command >> count) || count < 1) return false;
  if (command == "steps") {
    std::printf("{\"seconds\": %.9f}\n", bench.time(count));
  } else if (command == "losses") {
    std::vector<float> losses = bench.losses(count);
    for (size_t i = 0; i < losses.size(); ++i)
      if (std::isfinite(losses[i]))
        std::printf("%s%.9g", i == 0 ? "{\"losses\": [" : ", ", losses[i]);
      else
        std::printf("%snull", i == 0 ? "{\"losses\": [" : ", ");
    std::puts("]}");
  } else {
    return false;
  }
  std::fflush(stdout);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, &options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    Clock::time_point begin = Clock::now();
    Benchmark bench(options);
    if (options.warm_up > 0) bench.time(options.warm_up);
    const std::string kernels = bench.kernels();
    std::printf(
        "{\"ready\": true, \"device\": \"%s\", \"seconds\": %.6f%s%s}\n",
        bench.device().c_str(), seconds_since(begin),
        kernels.empty() ? "" : ", \"kernels\": ", kernels.c_str());
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);)
      if (!answer(bench, line)) {
        std::fprintf(stderr, "mpc-gpu-bench: unknown command '%s'\n",
                     line.c_str());
        return 2;
      }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpc-gpu-bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
