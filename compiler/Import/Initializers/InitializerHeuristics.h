//===- InitializerHeuristics.h - What an initializer is for -----*- C++ -*-===//
//
// ONNX has one kind of initializer for parameters, masks and the numbers of a
// model's code. Names and contents tell them apart.
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

/// Whether `name` is one that PyTorch's exporter gives to what it computed
/// itself: `val_7`, a number or a weight that it transposed.
bool isExportersValue(llvm::StringRef name);

/// Whether `name` is that of a function of PyTorch's which makes tables:
/// `arange_3`, `cos`. Its exporter calls so what it computed. Not `ones`:
/// people call weights so.
bool isExportersTable(llvm::StringRef name);

/// Whether all elements, of `size` bytes, are equal.
bool isSplat(const TensorBytes &data, size_t size);

/// Whether floats are a mask to be added to scores: all are 0 or at most -1e4,
/// and not all are 0.
bool isMask(const TensorBytes &data, int32_t dataType);

/// Whether floats are a table of sines and cosines of positions: each row but
/// one of zeros has pairs of a sine and a cosine, or each column continues from
/// two numbers as one of them does.
bool isPositionalTable(const TensorBytes &data,
                       const onnx::TensorProto &tensor);

/// Whether `name` is that of a function of PyTorch's which fills a tensor with
/// one number. In a file whose parameters are known it names no parameter.
bool isExporterFillConstant(llvm::StringRef name);

/// Finds tensors whose elements another one holds, as they are or as a
/// matrix turned over. A tensor of equal elements is a copy of none. What it
/// is given must live on.
class CopyFinder {
public:
  struct Copy {
    const onnx::TensorProto *original;
    bool isTransposed;
  };

  /// A tensor that others may be copies of.
  void add(const onnx::TensorProto &tensor, const TensorBytes &data);
  /// The first of those that `tensor` is a copy of.
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
  /// Bytes that may still be compared: a file may hold many tensors that differ
  /// late.
  int64_t left = int64_t(1) << 36;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_INITIALIZERS_INITIALIZERHEURISTICS_H
