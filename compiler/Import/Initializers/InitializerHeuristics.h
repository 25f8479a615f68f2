//===- InitializerHeuristics.h - Roles of initializers ----------*- C++ -*-===//
//
// ONNX has only one kind of initializer for parameters, masks and numbers of a
// model's code. These heuristics tell them apart by names and contents.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_INITIALIZERS_INITIALIZERHEURISTICS_H
#define MPC_COMPILER_IMPORT_INITIALIZERS_INITIALIZERHEURISTICS_H

#include "compiler/Import/File/TensorData.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace mpc {

/// Returns true if `name` is one that PyTorch's exporter gives to tensors that
/// it computed itself: `val_7`, a number or a transposed weight.
bool isExportersValue(llvm::StringRef name);

/// Returns true if `name` is that of a PyTorch function that creates tables:
/// `arange_3`, `cos`. The exporter gives such names to tensors that it
/// computed. Excludes `ones`, which is also a name of weights.
bool isExportersTable(llvm::StringRef name);

/// Returns true if all elements, of `size` bytes each, are equal.
bool isSplat(const TensorBytes &data, size_t size);

/// Returns true if floats are a mask to be added to scores: all are 0 or at
/// most -1e4, and not all are 0.
bool isMask(const TensorBytes &data, int32_t dataType);

/// Returns true if floats are a table of sines and cosines of positions: each
/// row that is not zero consists of pairs of a sine and a cosine, or each
/// column satisfies the recurrence of a sine or cosine from its first two
/// numbers.
bool isPositionalTable(const TensorBytes &data,
                       const onnx::TensorProto &tensor);

/// Returns true if `name` is that of a PyTorch function that fills a tensor
/// with one number. In a file whose parameters are known, it is not the name of
/// a parameter.
bool isExporterFillConstant(llvm::StringRef name);

/// Finds tensors that are copies of another tensor, or of a transposed matrix.
/// A tensor of equal elements does not count as a copy. Arguments must outlive
/// this object.
class CopyFinder {
public:
  struct Copy {
    const onnx::TensorProto *original;
    bool isTransposed;
  };

  /// Adds a tensor that others may be copies of.
  void add(const onnx::TensorProto &tensor, const TensorBytes &data);
  /// The first added tensor that `tensor` is a copy of.
  std::optional<Copy> find(const onnx::TensorProto &tensor,
                           const TensorBytes &data);

private:
  struct Entry {
    const onnx::TensorProto *tensor;
    TensorBytes data;
  };
  std::vector<Entry> entries;
  /// By type, shape and a few elements.
  std::unordered_map<uint64_t, std::vector<size_t>> byKey;
  /// Remaining budget of bytes to compare: a file may have many tensors that
  /// differ only near their ends.
  int64_t left = int64_t(1) << 36;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_INITIALIZERS_INITIALIZERHEURISTICS_H
