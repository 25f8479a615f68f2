//===- Elements.h - The bytes of an array -----------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_ELEMENTS_H
#define MPC_TOOLS_MPC_DATA_ELEMENTS_H

#include "tools/npz/Npz.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// The bytes of an array: in memory, or in a file that is mapped. Copies share
/// them.
class Elements {
public:
  Elements() = default;
  /*implicit*/ Elements(std::vector<char> bytes);

  /// Bytes that the caller keeps.
  static Elements borrow(const void *bytes, uint64_t size);

  /// Maps a part of an open file, which may be closed afterwards. Throws a
  /// Failure that names `path` if that fails.
  static Elements map(int file, uint64_t offset, uint64_t size,
                      const std::string &path);

  /// All bytes, to read them from first to last.
  const char *data() const { return begin; }
  uint64_t size() const { return length; }

  /// The bytes from `offset` on.
  Elements from(uint64_t offset) const;

  /// A part of the bytes, which is read into `buffer` unless it is in memory.
  /// Throws a Failure if the file cannot be read. This is faster than data()
  /// for parts in any order if the file does not fit in memory: the kernel
  /// evicts pages more easily if no process has mapped them.
  const char *part(uint64_t offset, uint64_t size,
                   std::vector<char> &buffer) const;

  bool isInFile() const { return mapping != nullptr; }

  /// Makes the process end with a message, instead of a signal, if a mapped
  /// file becomes shorter or its disk fails. A library leaves signals alone.
  static void explainBusErrors() { explains = true; }

  /// Starts to read a part that will soon be needed, unless it is in memory.
  void prefetch(uint64_t offset, uint64_t size) const;

private:
  struct Mapping;

  inline static bool explains = false;

  std::shared_ptr<const void> owner;
  const Mapping *mapping = nullptr; ///< Part of `owner`; null: in memory.
  uint64_t skipped = 0;             ///< Bytes of the mapping before `begin`.
  const char *begin = nullptr;
  uint64_t length = 0;
};

/// An array of a data set, in C order and little-endian.
struct StoredArray : npz::ArrayType {
  std::string path; ///< The file it is from.
  Elements elements;
  /// Elements between rows, if these overlap, as windows of a text do; then
  /// `elements` has fewer than the shape says.
  std::optional<uint64_t> rowStride;

  StoredArray(std::string path, ArrayType type, Elements elements)
      : ArrayType(std::move(type)), path(std::move(path)),
        elements(std::move(elements)) {}
  StoredArray(std::string path, npz::Array array)
      : ArrayType(array), path(std::move(path)),
        elements(std::move(array.data)) {}

  const char *data() const { return elements.data(); }
};

/// The bytes of an array that stay in memory: a quarter of the memory that is
/// available, or the value of MPC_DATA_MEMORY in bytes. Larger arrays are in
/// files that are mapped.
uint64_t memoryForArray();

/// Collects the bytes of an array of unknown size: in memory, or, if they are
/// many, in a file without a name in the folder for temporary files.
class ElementsBuilder {
public:
  /// `what` names the array in errors: "array 'x' of data.csv".
  explicit ElementsBuilder(std::string what);
  ElementsBuilder(const ElementsBuilder &) = delete;
  ElementsBuilder &operator=(const ElementsBuilder &) = delete;
  ~ElementsBuilder();

  void append(const void *bytes, size_t size);
  uint64_t size() const { return written + buffer.size(); }

  /// The bytes; nothing may be appended afterwards.
  Elements take();

private:
  void flush();

  const std::string what;
  const uint64_t limit;
  std::vector<char> buffer;
  uint64_t written = 0; ///< Bytes in the file.
  int file = -1;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_ELEMENTS_H
