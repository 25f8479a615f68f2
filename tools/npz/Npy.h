//===- Npy.h - One array as NumPy writes it ---------------------*- C++ -*-===//
#ifndef MPC_TOOLS_NPZ_NPY_H
#define MPC_TOOLS_NPZ_NPY_H

#include "tools/npz/Npz.h"

#include <string>
#include <vector>

namespace mpc::npz {

/// Reads the content of a .npy file (format 1, 2 or 3) but for the array's
/// name. Returns false and says why if it is not one, or of a type that is no
/// number.
bool parseNpy(std::vector<char> bytes, Array &array, std::string &what);

/// Reads type and shape from the beginning of a .npy file; `begin` is where its
/// data starts. Fails as parseNpy does, also where the beginning is too short:
/// kMaxNpyHeader bytes are enough for every header that is taken.
constexpr uint64_t kMaxNpyHeader = 1 << 16;
bool parseNpyHeader(const std::vector<char> &bytes, Array &array,
                    uint64_t &begin, std::string &what);

/// The content of a .npy file, format 1.
std::string formatNpy(const Array &array);

} // namespace mpc::npz

#endif // MPC_TOOLS_NPZ_NPY_H
