//===- MachineFile.cpp - Rates of a machine in a file ---------------------===//

#include "tools/mpc/options/MachineFile.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/TomlFile.h"

#include "kernels/devices.h"
#include "passes/Options/OptionChecks.h"
#include "passes/Options/OptionText.h"

#include <filesystem>

using namespace mpc::tool;

static constexpr int64_t kVersion = 1;

std::string mpc::tool::printMachineFile(const Machine &machine) {
  std::string text = "# Rates of a machine, for --machine and --cost.\nversion "
                     "= " +
                     std::to_string(kVersion) + "\n";
  for (const std::string &line : textOf(machine)) {
    size_t equals = line.find('=');
    std::string key = line.substr(0, equals), value = line.substr(equals + 1);
    bool isText = key == "name" || key == "device";
    text += key + " = " + (isText ? quoteToml(value) : value) + "\n";
  }
  return text;
}

static std::vector<std::string> deviceNames() {
  std::vector<std::string> names;
  for (const mpc::kernels::DeviceRow &row : mpc::kernels::kDevices)
    names.emplace_back(row.name);
  return names;
}

/// The value of a property as text.
static std::string valueOf(const TomlFile &file, const toml::node &node,
                           const std::string &key) {
  bool isText = key == "name" || key == "device";
  if (isText)
    if (auto text = node.value_exact<std::string>())
      return *text;
  if (!isText && node.is_number())
    return mpc::shortest(*node.value<double>());
  file.refuse(node, key + (isText ? " must be a text" : " must be a number"));
}

static mpc::Machine readMachineFile(const std::string &path) {
  TomlFile file(path, "machine");
  std::vector<std::string> keys = mpc::machineKeys();
  keys.insert(keys.begin(), "version");
  file.checkKeys(file.table(), keys);
  file.checkVersion(kVersion);
  mpc::Machine ignored;
  std::vector<std::string> lines;
  for (const auto &[name, node] : file.table()) {
    std::string key(name.str());
    if (key == "version")
      continue;
    std::string value = valueOf(file, node, key);
    if (std::string why = setProperty(ignored, key, value); !why.empty())
      file.refuse(node, why);
    if (key == "device" && !mpc::kernels::find_device(value))
      file.refuse(node, "device must be one of " + joinWords(deviceNames()) +
                            ", but is '" + value + "'");
    lines.push_back(key + "=" + value);
  }
  mpc::Machine machine;
  if (std::string why = readMachine(lines, machine); !why.empty())
    throw Failure(Usage, path + ": " + why);
  return machine;
}

mpc::Machine mpc::tool::readMachineOption(const std::string &option,
                                          const std::string &value) {
  if (std::filesystem::path(value).extension() == ".toml")
    return readMachineFile(value);
  std::vector<std::string> names;
  for (const KnownMachine &row : knownMachines()) {
    if (row.key == value)
      return row.machine;
    names.emplace_back(row.key);
  }
  throw Failure(Usage, option + ": '" + value + "' is neither a known machine" +
                           suggest(value, names) +
                           " nor a file whose name ends in .toml; known are " +
                           joinWords(names));
}
