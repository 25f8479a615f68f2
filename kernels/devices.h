// The rows of devices.def.

#ifndef MPC_KERNELS_DEVICES_H_
#define MPC_KERNELS_DEVICES_H_

#include <string_view>
#include <vector>

namespace mpc::kernels {

enum class DeviceClass { Host, Accelerator };

// One MPC_DEVICE.
struct DeviceRow {
  std::string_view name, title;
  DeviceClass device_class;
  std::string_view architectures;  // Separated by spaces.
  std::string_view architecture;   // The default.
};

inline constexpr DeviceRow kDevices[] = {
#define MPC_DEVICE(name, Folder, title, CLASS, architectures, architecture) \
  {#name, title, DeviceClass::CLASS, architectures, architecture},
#include "kernels/devices.def"
};

// Returns null if there is no such device.
constexpr const DeviceRow* find_device(std::string_view name) {
  for (const DeviceRow& row : kDevices)
    if (row.name == name) return &row;
  return nullptr;
}

inline std::vector<std::string_view> list_architectures(const DeviceRow& row) {
  std::vector<std::string_view> list;
  std::string_view rest = row.architectures;
  while (!rest.empty()) {
    const size_t end = rest.find(' ');
    list.push_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  return list;
}

// 80 for "sm_80"; 0 if the text does not end in a number.
constexpr unsigned architecture_number(std::string_view architecture) {
  const size_t last = architecture.find_last_not_of("0123456789");
  unsigned number = 0;
  for (char digit :
       architecture.substr(last == std::string_view::npos ? 0 : last + 1))
    number = 10 * number + static_cast<unsigned>(digit - '0');
  return number;
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_DEVICES_H_
