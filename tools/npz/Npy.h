//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_NPZ_NPY_H
#define MPC_TOOLS_NPZ_NPY_H

#include "tools/npz/Npz.h"

#include <string>
#include <vector>

namespace mpc::npz {

/// Parses a .npy file (format 1, 2 or 3) into everything except the array's
/// name. Returns false and the reason in `what` if it is not a .npy file or its
/// type is not numeric.
bool parseNpy(std::vector<char> bytes, Array &array, std::string &what);

/// What the header of a .npy file says.
struct NpyHeader {
  ArrayType array;               ///< Without a name.
  uint64_t begin = 0, bytes = 0; ///< Offset and size of the data.
  /// Little-endian and in C order.
  bool isPlain = true;
};

/// Parses the beginning of a .npy file. Fails like parseNpy, and also if
/// `bytes` is too short: kMaxNpyHeader bytes are enough for every header that
/// is accepted.
constexpr uint64_t kMaxNpyHeader = 1 << 16;
bool parseNpyHeader(const std::vector<char> &bytes, NpyHeader &header,
                    std::string &what);

/// The contents of a .npy file, format 1.
std::string formatNpy(const Array &array);

} // namespace mpc::npz

#endif // MPC_TOOLS_NPZ_NPY_H
