//===- Targets.cpp - The devices of one compilation -----------------------===//

#include "passes/Driver/Targets.h"

#include "llvm/ADT/MapVector.h"

using namespace mpc;

/// Gives the targets of its device the rates of a machine.
static llvm::Error
useMachine(const std::vector<std::string> &text,
           llvm::ArrayRef<std::unique_ptr<DeviceTarget>> targets) {
  Machine machine;
  if (std::string why = readMachine(text, machine); !why.empty())
    return llvm::createStringError("option 'machine': " + why);
  bool isUsed = false;
  for (const std::unique_ptr<DeviceTarget> &target : targets)
    if (target->backend.name() == machine.device) {
      target->machine = machine;
      isUsed = true;
    }
  if (isUsed)
    return llvm::Error::success();
  return llvm::createStringError("option 'machine': " + machine.name +
                                 " is a machine for '" + machine.device +
                                 "', which is not a target");
}

llvm::Expected<std::vector<std::unique_ptr<DeviceTarget>>>
mpc::findTargets(const CompileOptions &options) {
  llvm::MapVector<const Backend *, TargetRequest> requests;
  for (llvm::StringRef text : options.targets) {
    auto [name, architecture] = text.split(':');
    const Backend *backend = findBackend(name);
    if (!backend)
      return llvm::createStringError("unknown target '" + text + "'");
    TargetRequest &request = requests[backend];
    request.cpu = options.targetCpu;
    std::string chosen = architecture.empty() ? backend->defaultArchitecture()
                                              : architecture.str();
    if (!chosen.empty())
      request.architectures.push_back(std::move(chosen));
  }
  std::vector<std::unique_ptr<DeviceTarget>> targets;
  for (const auto &[backend, request] : requests) {
    llvm::Expected<std::unique_ptr<DeviceTarget>> target =
        backend->findTarget(request);
    if (!target)
      return target.takeError();
    targets.push_back(std::move(*target));
  }
  if (!options.machine.empty())
    if (llvm::Error error = useMachine(options.machine, targets))
      return error;
  return targets;
}
