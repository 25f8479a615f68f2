//===- Npz.h - NumPy's .npz files -------------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_NPZ_NPZ_H
#define MPC_TOOLS_NPZ_NPZ_H

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mpc::npz {

/// An array without its elements.
struct ArrayType {
  std::string name;
  /// NumPy's name: "float32", "int64", "bool"; also "bfloat16".
  std::string dtype;
  std::vector<int64_t> shape;

  /// Elements and bytes per element.
  uint64_t count() const;
  uint64_t elementSize() const;
};

/// An array in C order, little-endian.
struct Array : ArrayType {
  std::vector<char> data;
};
using Arrays = std::vector<Array>;

/// The file cannot be read or written, or is invalid. The message starts with
/// its path.
class FileError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// There is not enough memory for an array of a file. The message starts with
/// its path.
class MemoryError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads the arrays of a file one by one: stored or deflated, of numbers or
/// booleans in any byte order, in C or Fortran order. Objects, strings and
/// structures are rejected. No file makes it crash; the time and memory for an
/// array are bounded by its size in the file, times the maximum compression
/// ratio of deflate.
class Reader {
public:
  explicit Reader(const std::string &path);
  Reader(Reader &&) noexcept;
  ~Reader();

  /// Names in the order of the file, without duplicates: if several arrays have
  /// the same name, the last one counts, as in NumPy.
  const std::vector<std::string> &names() const;
  bool has(const std::string &name) const;

  /// Type and shape of an array, and the size of its data, without reading it.
  ArrayType header(const std::string &name) const;
  uint64_t size(const std::string &name) const;
  Array read(const std::string &name) const;

  /// Reads an array of any size: calls `take` with its bytes, piece by piece.
  /// Returns false, without a call, if the bytes would have to be reordered,
  /// because the array is big-endian or in Fortran order.
  bool stream(const std::string &name,
              const std::function<void(const char *, size_t)> &take) const;

private:
  struct File;
  std::unique_ptr<File> file;
};

/// Reads all arrays of a file.
Arrays read(const std::string &path);

/// Writes arrays like numpy.savez, atomically. The same arrays give the same
/// bytes. Once it returns, the file survives a power loss.
void write(const std::string &path, const Arrays &arrays);

/// "float32[1500,1,8,8]".
std::string typeText(const ArrayType &array);

} // namespace mpc::npz

#endif // MPC_TOOLS_NPZ_NPZ_H
