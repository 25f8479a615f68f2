//===- Npz.h - NumPy's .npz files -------------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_NPZ_NPZ_H
#define MPC_TOOLS_NPZ_NPZ_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace mpc::npz {

/// An array in C order, little-endian.
struct Array {
  std::string name;
  std::string dtype; ///< As NumPy calls it: "float32", "int64", "bool".
  std::vector<int64_t> shape;
  std::vector<char> data;

  /// Elements and bytes per element.
  uint64_t count() const;
  uint64_t elementSize() const;
};
using Arrays = std::vector<Array>;

/// The file cannot be read or written, or is not what it should be; the message
/// starts with its path.
class FileError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// There is no memory for an array of a file; the message starts with its path.
class MemoryError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads all arrays: stored or deflated, of numbers or booleans of any byte
/// order, in C or Fortran order. Objects, strings and structures are refused.
/// No file makes it crash or take more memory than the file says it holds.
Arrays read(const std::string &path);

/// Writes arrays as numpy.savez does. The file appears whole or not at all; the
/// same arrays give the same bytes.
void write(const std::string &path, const Arrays &arrays);

/// "float32[1500,1,8,8]".
std::string typeText(const Array &array);

} // namespace mpc::npz

#endif // MPC_TOOLS_NPZ_NPZ_H
