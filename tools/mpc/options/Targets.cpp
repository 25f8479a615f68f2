//===- Targets.cpp - Target devices of a compilation ----------------------===//

#include "tools/mpc/options/Targets.h"
#include "compiler/Support/Precision/Precisions.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"

#include "kernels/catalog.h"
#include "kernels/devices.h"

#include <algorithm>
#include <optional>

using namespace mpc::tool;
namespace kernels = mpc::kernels;

static std::string join(const kernels::DeviceRow &device,
                        std::string_view architecture) {
  return std::string(device.name) + ":" + std::string(architecture);
}

static std::vector<std::string> knownTargets() {
  std::vector<std::string> known;
  for (const kernels::DeviceRow &device : kernels::kDevices)
    known.emplace_back(device.name);
  for (const kernels::DeviceRow &device : kernels::kDevices)
    for (std::string_view architecture : kernels::list_architectures(device))
      known.push_back(join(device, architecture));
  return known;
}

/// "cpu, cuda and cuda:sm_N (N = 70, 75, 80 or 90)".
static std::string describeTargets() {
  std::vector<std::string> forms;
  for (const kernels::DeviceRow &device : kernels::kDevices)
    forms.emplace_back(device.name);
  for (const kernels::DeviceRow &device : kernels::kDevices) {
    auto architectures = kernels::list_architectures(device);
    if (architectures.empty())
      continue;
    std::vector<std::string> numbers;
    for (std::string_view architecture : architectures)
      numbers.push_back(
          std::to_string(kernels::architecture_number(architecture)));
    std::string_view first = architectures.front();
    std::string_view prefix =
        first.substr(0, first.find_last_not_of("0123456789") + 1);
    forms.push_back(join(device, prefix) +
                    "N (N = " + joinWords(numbers, "or") + ")");
  }
  return joinWords(forms);
}

std::vector<std::string> mpc::tool::splitTargets(const std::string &list) {
  std::vector<std::string> targets;
  size_t begin = 0;
  for (size_t end; (end = list.find(',', begin)) != std::string::npos;
       begin = end + 1)
    targets.push_back(list.substr(begin, end - begin));
  targets.push_back(list.substr(begin));
  return targets;
}

/// "; did you mean 'cuda:sm_86'?" for a target that ends in the number of an
/// architecture, such as "sm_86" or "cuda:86". Other targets are compared by
/// their letters.
static std::string suggestTarget(const std::string &target,
                                 const std::vector<std::string> &known) {
  const unsigned number = kernels::architecture_number(target);
  auto named = std::find_if(
      known.begin(), known.end(), [&](const std::string &candidate) {
        return number > 0 && kernels::architecture_number(candidate) == number;
      });
  return suggest(named == known.end() ? target : *named, known);
}

TargetList::TargetList() : CLI::Validator("") {
  func_ = [](std::string &list) -> std::string {
    const std::vector<std::string> known = knownTargets();
    std::vector<std::string> targets;
    for (std::string target : splitTargets(list)) {
      if (std::find(known.begin(), known.end(), target) == known.end())
        return "unknown target '" + target +
               "'; use a comma-separated list of " + describeTargets() +
               suggestTarget(target, known);
      const kernels::DeviceRow *bare = kernels::find_device(target);
      if (bare && !bare->architecture.empty())
        target = join(*bare, bare->architecture);
      if (std::find(targets.begin(), targets.end(), target) != targets.end()) {
        std::string name = target.substr(0, target.find(':'));
        const kernels::DeviceRow &device = *kernels::find_device(name);
        bool isDefault = target == join(device, device.architecture);
        return "names '" + target + "' twice" +
               (isDefault ? "; '" + name + "' stands for it" : "");
      }
      targets.push_back(target);
    }
    list.clear();
    for (const std::string &target : targets)
      list += (list.empty() ? "" : ",") + target;
    return "";
  };
}

namespace {
/// The type that an accelerator must be able to multiply for a precision.
struct Requirement {
  mpc::Format format;
  const char *kernel; ///< The kernel that multiplies it.
  mpc::Format remedy; ///< A format that requires less of the device.
};
} // namespace

static std::optional<Requirement> requirementOf(const mpc::Precision &row) {
  if (row.layers == mpc::Precision::AllLayers)
    return Requirement{*row.forward, "scaled_matmul", *row.tensors};
  if (row.products)
    return Requirement{*row.products, "matmul", row.wide};
  if (row.tensors)
    return Requirement{*row.tensors, "matmul", mpc::Format::F16};
  return std::nullopt;
}

/// The first architecture of `device` that meets the requirement; none if no
/// architecture does.
static std::optional<std::string_view>
firstArchitecture(const kernels::DeviceRow &device, const Requirement &needs) {
  auto first = kernels::first_architecture(device.name, needs.kernel,
                                           mpc::factsOf(needs.format).type);
  for (std::string_view architecture : kernels::list_architectures(device))
    if (first && kernels::architecture_number(architecture) >= *first)
      return architecture;
  return std::nullopt;
}

void mpc::tool::checkPrecision(const std::vector<std::string> &targets,
                               const std::string &precision) {
  for (const std::string &target : targets) {
    const size_t colon = target.find(':');
    const kernels::DeviceRow &device =
        *kernels::find_device(target.substr(0, colon));
    // A host emulates types that it does not support.
    if (device.device_class == kernels::DeviceClass::Host)
      continue;
    if (precision == "fp64" &&
        !kernels::first_architecture(device.name, "matmul", "f64"))
      throw Failure(Usage, "--precision=fp64 is for gradient checks on the "
                           "CPU; --target=" +
                               target + " computes in fp32 at most");
    const unsigned number = kernels::architecture_number(target);
    const auto needs = requirementOf(mpc::precisionOf(precision));
    if (!needs)
      continue;
    const auto first = firstArchitecture(device, *needs);
    if (first && number >= kernels::architecture_number(*first))
      continue;
    std::string message =
        "--precision=" + precision + " needs " +
        (first ? std::string(*first) + " or newer" : "another device") +
        ": GPUs of --target=" + target + " do not multiply in " +
        std::string(mpc::factsOf(needs->format).option) +
        "; give --precision=" + std::string(mpc::factsOf(needs->remedy).option);
    if (first)
      message += " or --target=" + join(device, *first);
    throw Failure(Usage, message);
  }
}
