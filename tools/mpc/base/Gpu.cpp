//===- Gpu.cpp - GPU support of this machine ------------------------------===//

#include "tools/mpc/base/Gpu.h"
#include "tools/mpc/base/Text.h"

#include "kernels/catalog.h"
#include "kernels/cuda/driver/device_images.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <sstream>

using namespace mpc::tool;
using namespace mpc::cuda;
using Json = nlohmann::ordered_json;

/// The oldest architecture that runs the kernels of the catalog.
static constexpr int kLeastArchitecture = 70;

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

GpuLibraries mpc::tool::loadGpuLibraries() {
  GpuLibraries libraries;
  libraries.driver.table = load_driver(&libraries.driver.missing);
  libraries.cublaslt.table = load_cublaslt(&libraries.cublaslt.missing);
  libraries.cudnn.table = load_cudnn(&libraries.cudnn.missing);
  libraries.nccl.table = load_nccl(&libraries.nccl.missing);
  libraries.imagesVersion = mpc::kernels::device_images_version();
  return libraries;
}

/// The file that a function was loaded from, "" if unknown.
template <typename Function> static std::string fileOf(Function *function) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(function), &info) || !info.dli_fname)
    return "";
  return info.dli_fname;
}

/// 91400 is "9.14.0".
static std::string formatVersion(uint64_t version) {
  return format("%llu.%llu.%llu",
                static_cast<unsigned long long>(version / 10000),
                static_cast<unsigned long long>(version / 100 % 100),
                static_cast<unsigned long long>(version % 100));
}

static Json found(const std::string &version, const std::string &file) {
  return {{"version", version}, {"file", file}};
}

static Json absent(const std::string &missing) {
  return {{"version", nullptr}, {"missing", missing}};
}

static Json describeLibraries(const GpuLibraries &libraries) {
  Json json;
  const CublasLt *cublaslt = libraries.cublaslt.table;
  json["cuBLASLt"] = cublaslt
                         ? found(formatVersion(cublaslt->cublasLtGetVersion()),
                                 fileOf(cublaslt->cublasLtGetVersion))
                         : absent(libraries.cublaslt.missing);
  const Cudnn *cudnn = libraries.cudnn.table;
  json["cuDNN"] = cudnn ? found(formatVersion(cudnn->cudnnGetVersion()),
                                fileOf(cudnn->cudnnGetVersion))
                        : absent(libraries.cudnn.missing);
  int version = 0;
  const Nccl *nccl = libraries.nccl.table;
  if (nccl && nccl->ncclGetVersion(&version) == ncclSuccess)
    json["NCCL"] = found(formatVersion(version), fileOf(nccl->ncclGetVersion));
  else
    json["NCCL"] =
        absent(nccl ? "ncclGetVersion fails" : libraries.nccl.missing);
  return json;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

namespace {

/// Queries the driver. Every call is checked; after the first failure no more
/// calls are made.
class DriverQuery {
public:
  explicit DriverQuery(const Driver &driver) : driver(driver) {}

  /// Returns the devices, empty if there are none or a call failed.
  Json devices() {
    Json list = Json::array();
    int count = 0;
    if (!ok("cuInit", driver.cuInit(0)) ||
        !ok("cuDeviceGetCount", driver.cuDeviceGetCount(&count)))
      return list;
    for (int i = 0; i < count && failure.empty(); ++i)
      if (Json device = describe(i); failure.empty())
        list.push_back(std::move(device));
    return list;
  }

  std::string version() {
    int version = 0;
    if (!ok("cuDriverGetVersion", driver.cuDriverGetVersion(&version)))
      return "unknown";
    return format("%d.%d", version / 1000, version % 1000 / 10);
  }

  std::string failure; ///< Message of the first call that failed.

private:
  bool ok(const char *call, CUresult result) {
    if (result != CUDA_SUCCESS && failure.empty())
      failure = describe_error(driver, call, result);
    return result == CUDA_SUCCESS;
  }

  int attribute(CUdevice device, CUdevice_attribute attribute) {
    int value = 0;
    ok("cuDeviceGetAttribute",
       driver.cuDeviceGetAttribute(&value, attribute, device));
    return value;
  }

  Json describe(int index) {
    CUdevice device = 0;
    char name[256] = "";
    size_t bytes = 0;
    ok("cuDeviceGet", driver.cuDeviceGet(&device, index));
    ok("cuDeviceGetName", driver.cuDeviceGetName(name, sizeof(name), device));
    ok("cuDeviceTotalMem_v2", driver.cuDeviceTotalMem_v2(&bytes, device));
    int major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    int minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    int architecture = 10 * major + minor;
    auto multiplies = [architecture](const char *type,
                                     const char *kernel = "matmul") {
      auto first = mpc::kernels::first_architecture("cuda", kernel, type);
      return first && architecture >= static_cast<int>(*first);
    };
    Json json = {{"index", index}, {"name", name}};
    json["compute_capability"] = format("%d.%d", major, minor);
    json["architecture"] = format("sm_%d", architecture);
    json["memory"] = bytes;
    json["multiprocessors"] =
        attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    json["clock_mhz"] =
        attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
    json["tf32"] = multiplies("tf32");
    json["bf16"] = multiplies("bf16");
    json["fp8"] = multiplies("f8E4M3FN", "scaled_matmul");
    json["usable"] = architecture >= kLeastArchitecture;
    return json;
  }

  const Driver &driver;
};

} // namespace

//===----------------------------------------------------------------------===//
// What to install
//===----------------------------------------------------------------------===//

static const char *const kInstallDriver =
    "install NVIDIA's driver (580 or newer for CUDA 13); in a container, give "
    "it the GPUs (--gpus=all)";

/// How to install a library that is also available as a Python package.
static std::string installWheel(const char *package) {
  return std::string("install CUDA's toolkit, or 'pip install ") + package +
         "' and add the package's folder (site-packages/nvidia/*/lib) to "
         "LD_LIBRARY_PATH";
}

/// Whether a version is too new for the driver, which supports libraries and
/// machine code of its own major version and older ones. False if the driver's
/// version is unknown.
static bool isTooNew(int version, int driverVersion) {
  return driverVersion > 0 && version / 1000 > driverVersion / 1000;
}

static bool isCublasltTooNew(const GpuLibraries &libraries, int driverVersion) {
  return libraries.cublaslt.table &&
         isTooNew(libraries.cublaslt.table->cublasLtGetVersion() / 10000 * 1000,
                  driverVersion);
}

static Json listMissing(const GpuLibraries &libraries, const Json &devices,
                        int driverVersion, const std::string &failure) {
  Json missing = Json::array();
  auto add = [&](const std::string &what, const std::string &remedy) {
    missing.push_back(what + ": " + remedy);
  };
  bool isUsable = false;
  for (const Json &device : devices)
    isUsable |= device["usable"].get<bool>();
  if (!libraries.driver.table)
    add("CUDA driver", kInstallDriver);
  else if (!failure.empty())
    add(failure, "the driver is installed but does not work; nvidia-smi may "
                 "explain why");
  else if (devices.empty())
    add("the driver finds no GPU", "a container needs --gpus=all, and "
                                   "CUDA_VISIBLE_DEVICES must not be empty");
  else if (!isUsable)
    add("no GPU is sm_70 or newer", "train with --device=cpu");
  if (!libraries.cublaslt.table)
    add("cuBLASLt", installWheel("nvidia-cublas"));
  else if (isCublasltTooNew(libraries, driverVersion))
    add("cuBLASLt for CUDA " + cuda_version_text(driverVersion),
        "the installed one does not start on this driver; update the driver to "
        "580 or newer, or " +
            installWheel("nvidia-cublas-cu12"));
  if (!libraries.cudnn.table)
    add("cuDNN, for convolutions", installWheel("nvidia-cudnn-cu13"));
  if (libraries.driver.table && libraries.imagesVersion == 0)
    add("mpc's built-in CUDA kernels, for pooling and embeddings",
        "build mpc with nvcc on the path");
  return missing;
}

/// Notes on what the driver does with code of a newer CUDA than its own.
static Json listNotes(const GpuLibraries &libraries, const Json &tools,
                      int driverVersion) {
  Json notes = Json::array();
  const std::string driver =
      "the driver supports CUDA " + cuda_version_text(driverVersion) + ", ";
  if (isTooNew(libraries.imagesVersion, driverVersion))
    notes.push_back(
        driver + "older than the nvcc " +
        cuda_version_text(libraries.imagesVersion) +
        " that compiled the mpc kernels: it compiles their PTX when a "
        "session starts");
  if (!tools.is_object() || !tools.contains("ptxas") ||
      tools["ptxas"].is_null())
    return notes;
  const std::string ptxas = tools["ptxas"]["version"].get<std::string>();
  if (isTooNew(std::atoi(ptxas.c_str()) * 1000, driverVersion))
    notes.push_back(driver + "older than ptxas " + ptxas +
                    " on the path: it refuses machine code of packages that "
                    "are compiled here, and compiles their PTX when a session "
                    "starts");
  return notes;
}

static Json describeKernels(const GpuLibraries &libraries, int driverVersion) {
  if (libraries.imagesVersion == 0)
    return absent("nvcc was not found when mpc was built");
  return {{"version", cuda_version_text(libraries.imagesVersion)},
          {"loaded_as", isTooNew(libraries.imagesVersion, driverVersion)
                            ? "PTX"
                            : "machine code"}};
}

Json mpc::tool::describeGpus(const GpuLibraries &libraries, const Json &tools) {
  Json json, devices = Json::array();
  std::string failure;
  int driverVersion = 0;
  if (const Driver *driver = libraries.driver.table) {
    DriverQuery query(*driver);
    devices = query.devices();
    json["driver"] = found(query.version(), fileOf(driver->cuInit));
    failure = query.failure;
    driverVersion = driver_version(*driver);
    // listMissing() reports this in plain words.
    if (failure.find("CUDA_ERROR_NO_DEVICE") != std::string::npos)
      failure.clear();
  } else {
    json["driver"] = absent(libraries.driver.missing);
  }
  json["devices"] = devices;
  json["libraries"] = describeLibraries(libraries);
  json["kernels"] = describeKernels(libraries, driverVersion);
  json["missing"] = listMissing(libraries, devices, driverVersion, failure);
  json["notes"] = listNotes(libraries, tools, driverVersion);
  bool isUsable = false;
  for (const Json &device : devices)
    isUsable |= device["usable"].get<bool>();
  json["ready"] = isUsable && failure.empty() && libraries.cublaslt.table &&
                  !isCublasltTooNew(libraries, driverVersion);
  return json;
}

//===----------------------------------------------------------------------===//
// Tools
//===----------------------------------------------------------------------===//

/// The first executable file of this name on the path; "" if there is none.
static std::string findOnPath(const std::string &name) {
  const char *path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0)
      return file;
  }
  return "";
}

/// "13.0" from "Cuda compilation tools, release 13.0, V13.0.88"; "unknown" if
/// the tool prints no such line.
static std::string askVersion(const std::string &name) {
  std::string text;
  // `name` needs no quoting: it is never user input.
  if (std::FILE *pipe = popen((name + " --version 2>/dev/null").c_str(), "r")) {
    char buffer[256];
    while (size_t size = std::fread(buffer, 1, sizeof(buffer), pipe))
      text.append(buffer, size);
    pclose(pipe);
  }
  const std::string before = "release ";
  size_t begin = text.find(before);
  if (begin == std::string::npos)
    return "unknown";
  begin += before.size();
  size_t end = begin;
  while (
      end < text.size() &&
      (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.'))
    ++end;
  return text.substr(begin, end - begin);
}

Json mpc::tool::describeGpuTools() {
  Json json;
  for (const char *name : {"nvcc", "ptxas"}) {
    std::string file = findOnPath(name);
    json[name] = file.empty() ? Json(nullptr) : found(askVersion(name), file);
  }
  return json;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void line(const std::string &name, const std::string &value) {
  std::printf("%-14s %s\n", name.c_str(), value.c_str());
}

static std::string text(const Json &value) { return value.get<std::string>(); }

/// "13.0, /usr/lib/libcuda.so.1", or that it is missing, and why.
static std::string describeFound(const Json &json) {
  if (json.is_null())
    return "not on the path";
  if (json["version"].is_null())
    return "missing: " + text(json["missing"]);
  return text(json["version"]) + ", " + text(json["file"]);
}

void mpc::tool::printGpus(const Json &gpus, const Json &tools) {
  line("CUDA driver", describeFound(gpus["driver"]));
  for (const Json &device : gpus["devices"]) {
    line("GPU " + device["index"].dump(),
         format("%s, %s, %s, %d multiprocessors at %d MHz",
                text(device["name"]).c_str(),
                text(device["architecture"]).c_str(),
                formatBytes(device["memory"].get<uint64_t>()).c_str(),
                device["multiprocessors"].get<int>(),
                device["clock_mhz"].get<int>()));
    std::string precisions = "fp32, fp16";
    if (device["tf32"].get<bool>())
      precisions = "fp32, tf32, fp16";
    if (device["bf16"].get<bool>())
      precisions += ", bf16";
    if (device["fp8"].get<bool>())
      precisions += ", fp8";
    if (!device["usable"].get<bool>())
      precisions = "none: mpc needs sm_70 or newer";
    else if (!device["bf16"].get<bool>())
      precisions += "; bf16 needs sm_80: compile with --precision=fp16";
    line("  computes in", precisions);
  }
  for (const auto &[name, library] : gpus["libraries"].items())
    line(name, describeFound(library));
  for (const auto &[name, tool] : tools.items())
    line(name, describeFound(tool));
  const Json &kernels = gpus["kernels"];
  line("mpc kernels", kernels["version"].is_null()
                          ? describeFound(kernels)
                          : "compiled with nvcc " + text(kernels["version"]) +
                                " (" + text(kernels["loaded_as"]) + ")");
  for (const Json &note : gpus["notes"])
    line("note", text(note));
  for (const Json &missing : gpus["missing"])
    line("to do", text(missing));
  line("training", gpus["ready"].get<bool>()
                       ? "ready for --device=cuda"
                       : "not possible with --device=cuda");
}
