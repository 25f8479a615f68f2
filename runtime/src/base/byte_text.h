// Human-readable numbers of bytes.

#ifndef MPC_RUNTIME_SRC_BASE_BYTE_TEXT_H_
#define MPC_RUNTIME_SRC_BASE_BYTE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace mpc {

// "12 B", "241.2 kB", "1.7 GB": units of 1000. Allocates nothing, because it is
// used in out-of-memory messages.
class ByteText {
 public:
  explicit ByteText(uint64_t bytes) {
    if (bytes < 1000) {
      std::snprintf(text_, sizeof(text_), "%u B", static_cast<unsigned>(bytes));
      return;
    }
    constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double value = static_cast<double>(bytes) / 1000;
    size_t unit = 0;
    // 999.96 kB would be printed as 1000.0 kB.
    while (value >= 999.95 && unit + 1 < sizeof(kUnits) / sizeof(*kUnits)) {
      value /= 1000;
      ++unit;
    }
    std::snprintf(text_, sizeof(text_), "%.1f %s", value, kUnits[unit]);
  }
  const char* c_str() const { return text_; }

 private:
  char text_[32];
};

}  // namespace mpc

#endif  // MPC_RUNTIME_SRC_BASE_BYTE_TEXT_H_
