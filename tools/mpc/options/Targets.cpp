//===- Targets.cpp - The devices that a model is compiled for -------------===//

#include "tools/mpc/options/Targets.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"

#include "kernels/catalog.h"

#include <algorithm>
#include <cstdlib>

using namespace mpc::tool;

/// Architectures that LLVM's PTX and NVIDIA's drivers of today both know.
static constexpr unsigned kArchitectures[] = {70, 75, 80,  86,  87,
                                              89, 90, 100, 103, 120};
/// Its PTX runs on everything newer.
static constexpr const char *kDefaultCuda = "cuda:sm_80";

static const std::string kCudaPrefix = "cuda:sm_";

static std::vector<std::string> knownTargets() {
  std::vector<std::string> known = {"cpu", "cuda"};
  for (unsigned architecture : kArchitectures)
    known.push_back(kCudaPrefix + std::to_string(architecture));
  return known;
}

/// "70, 75, 80 or 90".
static std::string listArchitectures() {
  std::string list;
  for (unsigned architecture : kArchitectures) {
    bool isLast = architecture == *std::rbegin(kArchitectures);
    list += (list.empty() ? ""
             : isLast     ? " or "
                          : ", ") +
            std::to_string(architecture);
  }
  return list;
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

/// "; did you mean 'cuda:sm_86'?" for what ends in the number of one: "sm_86",
/// "cuda:86". Others are compared by their letters.
static std::string suggestTarget(const std::string &target,
                                 const std::vector<std::string> &known) {
  size_t last = target.find_last_not_of("0123456789");
  std::string named =
      kCudaPrefix + target.substr(last == std::string::npos ? 0 : last + 1);
  bool isKnown = std::find(known.begin(), known.end(), named) != known.end();
  return suggest(isKnown ? named : target, known);
}

TargetList::TargetList() : CLI::Validator("") {
  func_ = [](std::string &list) -> std::string {
    const std::vector<std::string> known = knownTargets();
    std::vector<std::string> targets;
    for (std::string target : splitTargets(list)) {
      if (std::find(known.begin(), known.end(), target) == known.end())
        return "must be cpu, cuda or cuda:sm_N with N " + listArchitectures() +
               ", several with commas between, but has '" + target + "'" +
               suggestTarget(target, known);
      if (target == "cuda")
        target = kDefaultCuda;
      if (std::find(targets.begin(), targets.end(), target) != targets.end())
        return "names '" + target + "' twice" +
               (target == kDefaultCuda ? "; 'cuda' stands for it" : "");
      targets.push_back(target);
    }
    list.clear();
    for (const std::string &target : targets)
      list += (list.empty() ? "" : ",") + target;
    return "";
  };
}

namespace {
/// What GPUs have to multiply in for a precision, and what to do without.
struct Requirement {
  const char *precision;
  const char *name, *type; ///< Of what is multiplied: ours, the catalog's.
  const char *kernel;      ///< What multiplies it.
  const char *remedy;
};
} // namespace

static constexpr Requirement kRequirements[] = {
    {"tf32", "tf32", "tf32", "matmul",
     "--precision=fp32 or --target=cuda:sm_80"},
    {"bf16", "bf16", "bf16", "matmul", "--precision=fp16"},
    {"auto", "bf16", "bf16", "matmul", "--precision=fp16"},
    {"fp8", "fp8", "f8E4M3FN", "scaled_matmul",
     "--precision=bf16 or --target=cuda:sm_90"},
};

void mpc::tool::checkPrecision(const std::vector<std::string> &targets,
                               const std::string &precision) {
  for (const std::string &target : targets) {
    if (target.compare(0, kCudaPrefix.size(), kCudaPrefix) != 0)
      continue;
    if (precision == "fp64")
      throw Failure(
          Usage,
          "--precision=fp64 is for gradient checks on the CPU; --target=" +
              target + " computes in fp32 at most");
    unsigned long architecture =
        std::strtoul(target.c_str() + kCudaPrefix.size(), nullptr, 10);
    for (const Requirement &needs : kRequirements) {
      unsigned first =
          *mpc::kernels::first_architecture(needs.kernel, needs.type);
      if (precision == needs.precision && architecture < first)
        throw Failure(Usage, "--precision=" + precision + " needs sm_" +
                                 std::to_string(first) +
                                 " or newer: GPUs of --target=" + target +
                                 " do not multiply in " + needs.name +
                                 "; give " + needs.remedy);
    }
  }
}
