//===- ImportedNode.h - A node during its import ----------------*- C++ -*-===//
//
// Internal to compiler/Import. An import function requests inputs and
// attributes, emits train ops and sets outputs. Failure is sticky: after the
// first failure every request returns a harmless default and every emission
// does nothing, so that checking failed() or the final result once suffices.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_GRAPH_IMPORTEDNODE_H
#define MPC_COMPILER_IMPORT_GRAPH_IMPORTEDNODE_H

#include "compiler/Import/Graph/GraphImporter.h"
#include "compiler/Import/Graph/OpTable.h"
#include "compiler/Support/Faults.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"

namespace mpc {

class ImportedNode {
public:
  ImportedNode(GraphImporter &graph, const onnx::NodeProto &proto, int index);

  /// Runs the row's function, then checks that every attribute was read. Every
  /// failure has a diagnostic.
  mlir::LogicalResult run(const OpRow &row);

  /// Emits an error at the node and makes it fail.
  mlir::InFlightDiagnostic error();
  /// The same with notes about the shapes of all tensor inputs.
  mlir::InFlightDiagnostic shapeError();
  bool failed() const { return hasFailed; }
  /// Makes the node fail after a diagnostic from elsewhere.
  void fail() { hasFailed = true; }

  //===--------------------------------------------------------------------===//
  // Inputs
  //===--------------------------------------------------------------------===//

  bool hasInput(unsigned i) const {
    return i < unsigned(proto.input_size()) && !proto.input(i).empty();
  }
  /// The number of inputs, without trailing empty names.
  unsigned numInputs() const;

  /// Inputs as data. The first two also check the element type.
  mlir::Value floatInput(unsigned i);
  mlir::Value intInput(unsigned i);
  /// Floats or integers, not bools.
  mlir::Value numberInput(unsigned i);
  mlir::Value input(unsigned i);

  /// Mean or variance of a BatchNormalization: must be an initializer.
  mlir::Value statisticInput(unsigned i, bool frozen);

  /// Returns true if training does not update the statistics of this
  /// BatchNormalization.
  bool freezesStatistics(mlir::Value scale, mlir::Value bias);

  /// Inputs that must be known at import: shapes, axes, ratios.
  llvm::SmallVector<int64_t> knownInts(unsigned i);
  double knownScalar(unsigned i);
  /// One number as an integer, clamped to magnitudes up to 2^62, so that sums
  /// of two never overflow.
  int64_t knownInteger(unsigned i);
  /// A short list of floats.
  std::vector<double> knownFloats(unsigned i);
  bool isKnown(unsigned i);
  /// Returns true if a node computes the input from unknown values.
  bool isComputed(unsigned i);
  /// Returns true if an exponent or a bound is known and not a parameter.
  bool isNumber(unsigned i);
  /// The element type of an input, known or not; null if it is not supported.
  mlir::Type typeOfInput(unsigned i);
  /// The dimensions of an input, known or not; does not materialize the input.
  llvm::SmallVector<int64_t> shapeOfInput(unsigned i);

  /// Returns true if input `i` never changes and is small enough to compute
  /// with.
  bool isConstant(unsigned i);
  /// The elements of a constant input; empty after an error.
  KnownTensor constant(unsigned i);
  /// Reports an error and returns false if a constant of this shape would be
  /// too large.
  bool fitsConstant(llvm::ArrayRef<int64_t> shape);
  /// The list of `make(i)` for every i below `count`; empty after an error if
  /// it would be too long for a constant.
  llvm::SmallVector<int64_t>
  makeIndexList(int64_t count, llvm::function_ref<int64_t(int64_t)> make);
  /// The list 0, 1, .. `count` - 1, likewise.
  llvm::SmallVector<int64_t> iota(int64_t count);

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  bool hasAttr(llvm::StringRef name) { return find(name); }
  int64_t intAttr(llvm::StringRef name, int64_t defaultValue);
  /// The element type that an attribute names; `otherwise` without it, null
  /// after an error.
  mlir::Type typeAttr(llvm::StringRef name, mlir::Type otherwise);
  /// Reads a 0-or-1 integer.
  bool boolAttr(llvm::StringRef name, bool defaultValue);
  double floatAttr(llvm::StringRef name, double defaultValue);
  std::string stringAttr(llvm::StringRef name, llvm::StringRef defaultValue);
  /// Empty if the attribute is absent.
  llvm::SmallVector<llvm::StringRef> stringsAttr(llvm::StringRef name);
  /// Nullopt if the attribute is absent.
  std::optional<llvm::SmallVector<int64_t>> intsAttr(llvm::StringRef name);
  /// The attribute if it is present and of this type, else null; an error if it
  /// has another type.
  const onnx::AttributeProto *typedAttr(llvm::StringRef name,
                                        int32_t attributeType);

  /// Counts an axis from the front; it must lie in [-rank, rank), or up to and
  /// including rank if `allowEnd`. Returns 0 after an error.
  int64_t normalizeAxis(int64_t axis, int64_t rank, llvm::StringRef label,
                        bool allowEnd = false);

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  /// Emits an op whose result types are inferred, verifies it, and returns its
  /// first result; null after an error, or if an operand is null.
  template <typename OpTy>
  mlir::Value emit(llvm::ArrayRef<mlir::Value> operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    mlir::Operation *op = emitOp<OpTy>(operands, attributes);
    return op ? op->getResult(0) : mlir::Value();
  }
  template <typename OpTy>
  mlir::Operation *emitOp(llvm::ArrayRef<mlir::Value> operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                          mlir::Type type = nullptr) {
    mlir::OperationState state(loc, OpTy::getOperationName());
    using Properties =
        std::remove_reference_t<decltype(std::declval<OpTy>().getProperties())>;
    if constexpr (!std::is_same_v<Properties, mlir::EmptyProperties>)
      state.getOrAddProperties<Properties>();
    return create(state, operands, attributes, type);
  }
  /// The same for an op whose result type is given.
  template <typename OpTy>
  mlir::Value emitAs(mlir::Type type, llvm::ArrayRef<mlir::Value> operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    mlir::Operation *op = emitOp<OpTy>(operands, attributes, type);
    return op ? op->getResult(0) : mlir::Value();
  }

  /// Emits nothing if the shape stays the same.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  // Constants; null after an error, because their elements may be missing.
  /// A rank-0 float constant.
  mlir::Value scalar(double value);
  /// A rank-0 constant of the element type of `like`, float or integer.
  mlir::Value numberLike(mlir::Value like, double value);
  /// A constant of i64.
  mlir::Value integers(llvm::ArrayRef<int64_t> values,
                       llvm::ArrayRef<int64_t> shape);
  mlir::Value compare(mlir::Value lhs, mlir::Value rhs,
                      train::Comparison comparison);
  mlir::Value integerOp(train::IntegerOperation kind, mlir::Value lhs,
                        mlir::Value rhs);
  /// A known tensor as data.
  mlir::Value data(const KnownTensor &known);
  /// Casts the elements to another type, if it differs.
  mlir::Value castTo(mlir::Value value, mlir::Type element);
  /// Broadcasts like Expand; `value` must broadcast to `shape`.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// Positions [begin, begin + count) of dimension `dim`.
  mlir::Value part(mlir::Value value, int64_t dim, int64_t begin,
                   int64_t count);
  /// The elements at `places` along `axis`, zero for a place of -1.
  mlir::Value pick(mlir::Value value, int64_t axis,
                   llvm::ArrayRef<int64_t> places);

  // Attributes of train ops.
  mlir::NamedAttribute i64(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute i64s(llvm::StringRef name,
                            llvm::ArrayRef<int64_t> values);
  mlir::NamedAttribute f32(llvm::StringRef name, double value);
  mlir::NamedAttribute flag(llvm::StringRef name);
  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value);

  //===--------------------------------------------------------------------===//
  // Outputs
  //===--------------------------------------------------------------------===//

  /// Returns true if output `i` is used.
  bool isOutputUsed(unsigned i) const;
  /// The shape of an image output of a gradient op, which its inputs do not
  /// determine: the shape that the file declares, which must match [N, C] of
  /// `grad`.
  llvm::SmallVector<int64_t> shapeOfOutput(unsigned i,
                                           llvm::ArrayRef<int64_t> grad);
  /// Fails with an error if output `i` is used: `why` follows "output 1 'x' ".
  void refuseOutput(unsigned i, llvm::StringRef why);
  /// Fails if `value` is null or the node has failed; skips an absent output.
  mlir::LogicalResult setOutput(unsigned i, mlir::Value value);
  /// Sets an output to an existing value, known or not; without gradients if
  /// `--detach` names it.
  mlir::LogicalResult setShared(unsigned i, std::shared_ptr<GraphValue> value);
  /// Sets output 0 to input 0, known or not.
  mlir::LogicalResult forwardInput();
  /// Sets an output that is known at import.
  mlir::LogicalResult setKnown(mlir::ElementsAttr value, unsigned output = 0);
  mlir::LogicalResult setKnown(const onnx::TensorProto &tensor);
  /// The same for a computed tensor.
  mlir::LogicalResult setKnown(const KnownTensor &value, unsigned output = 0);

  /// For ops that are only computed at import: reports the input that is not
  /// constant.
  mlir::LogicalResult reportNonConstantInput();

  const onnx::NodeProto &proto;
  const mlir::Location loc;
  GraphImporter &graph;

private:
  mlir::LogicalResult runRow(const OpRow &row);
  bool hasOnlyConstants();
  /// Takes slices of the inputs of an elementwise op if all slices are equal
  /// and the whole result is large, or an input was.
  bool takeSlices();
  /// Whether an input has several slices of an output of this shape.
  bool spansSlices(unsigned i, llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<int64_t> shapeOfSlice(unsigned i);
  llvm::SmallVector<int64_t> shapeOfWhole(unsigned i);
  KnownTensor readSlice(unsigned i);
  KnownTensor readWhole(unsigned i);
  /// Repeats the slice of the output that was computed.
  mlir::LogicalResult setRepeated(mlir::DenseElementsAttr slice,
                                  unsigned output);
  const GraphValue *knownInput(unsigned i);
  const onnx::AttributeProto *find(llvm::StringRef name);
  /// "input 1 'w'"
  std::string label(unsigned i) const;
  mlir::Operation *create(mlir::OperationState &state,
                          llvm::ArrayRef<mlir::Value> operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes,
                          mlir::Type type);
  /// Gives a product with a weight the name of the node as its layer.
  void nameLayer(mlir::Operation *op);
  mlir::LogicalResult setTypes(mlir::OperationState &state, mlir::Type type);
  mlir::LogicalResult checkResults(mlir::Operation *op);
  void noteShapes(mlir::Diagnostic &diagnostic);

  const int index;
  bool hasFailed = false;
  llvm::StringSet<> readAttributes;
  llvm::SmallVector<std::pair<unsigned, mlir::Value>> dataInputs;

  /// The shape of the output if only its first slice along the first dimension
  /// is computed, from those of the inputs.
  std::optional<llvm::SmallVector<int64_t>> slicedShape;
};

/// Returns true if the elements of a tensor are floats.
inline bool isFloat(mlir::Value tensor) {
  return llvm::isa<mlir::FloatType>(
      mlir::getElementTypeOrSelf(tensor.getType()));
}

/// The number of elements of a tensor of this shape.
inline int64_t product(llvm::ArrayRef<int64_t> shape) {
  return mlir::ShapedType::getNumElements(shape);
}

/// The shape of a ranked tensor.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

/// The import function of ops whose inputs must be constants.
inline mlir::LogicalResult requireConstants(ImportedNode &node) {
  return node.reportNonConstantInput();
}

/// "32x64xf32"
std::string typeText(mlir::Type type);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_GRAPH_IMPORTEDNODE_H
