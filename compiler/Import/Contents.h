//===- Contents.h - What initializers are by what they hold -----*- C++ -*-===//
//
// ONNX has one kind of initializer for parameters, masks and the numbers of a
// model's code. Names and contents tell them apart.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_CONTENTS_H
#define MPC_COMPILER_IMPORT_CONTENTS_H

#include "compiler/Import/TensorData.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

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
/// one of zeros has pairs of a sine and a cosine, or each column goes on from
/// two numbers as one of them does.
bool isTableOfSines(const TensorBytes &data, const onnx::TensorProto &tensor);

/// Whether `name` is that of a function of PyTorch's which fills a tensor with
/// one number. In a file whose parameters are known it names no parameter.
bool isExportersFilling(llvm::StringRef name);

/// How `copy` holds what `original` does: "" if as it is, " transposed" if as a
/// matrix turned over, nothing if it does not. A tensor of equal elements is a
/// copy of none.
std::optional<llvm::StringRef> findCopy(const onnx::TensorProto &copy,
                                        const TensorBytes &copyData,
                                        const onnx::TensorProto &original,
                                        const TensorBytes &originalData);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_CONTENTS_H
