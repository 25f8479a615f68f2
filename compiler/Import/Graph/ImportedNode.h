//===- ImportedNode.h - A node, as its import function sees it --*- C++ -*-===//
//
// Internal to compiler/Import. An import function asks for inputs and
// attributes, emits train ops and sets outputs. Failure is sticky: after the
// first one every request returns a harmless default and every emission does
// nothing, so that one look at failed() or at the final result is enough.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_GRAPH_IMPORTEDNODE_H
#define MPC_COMPILER_IMPORT_GRAPH_IMPORTEDNODE_H

#include "compiler/Import/Graph/GraphImporter.h"
#include "compiler/Import/Graph/OpTable.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"

namespace mpc {

class ImportedNode {
public:
  ImportedNode(GraphImporter &graph, const onnx::NodeProto &proto, int index);

  /// Runs the row's function, then checks that no attribute was left over.
  /// Fails after a diagnostic, always.
  mlir::LogicalResult run(const OpRow &row);

  /// Emits an error at the node and makes it fail.
  mlir::InFlightDiagnostic error();
  /// The same with notes that tell the shapes of all tensor inputs.
  mlir::InFlightDiagnostic shapeError();
  bool failed() const { return hasFailed; }
  /// Makes the node fail after somebody else's diagnostic.
  void fail() { hasFailed = true; }

  //===--------------------------------------------------------------------===//
  // Inputs
  //===--------------------------------------------------------------------===//

  bool hasInput(unsigned i) const {
    return i < unsigned(proto.input_size()) && !proto.input(i).empty();
  }
  /// Without names at the end that are empty.
  unsigned numInputs() const;

  /// Inputs as data. The first two also check the element type.
  mlir::Value floatInput(unsigned i);
  mlir::Value intInput(unsigned i);
  /// Floats or integers, not bools.
  mlir::Value numberInput(unsigned i);
  mlir::Value input(unsigned i);

  /// Mean or variance of a BatchNormalization: must be an initializer.
  mlir::Value statisticInput(unsigned i, bool frozen);

  /// Whether training leaves those of this BatchNormalization as they are.
  bool freezesStatistics(mlir::Value scale, mlir::Value bias);

  /// Inputs that must be known at import: shapes, axes, ratios.
  llvm::SmallVector<int64_t> knownInts(unsigned i);
  double knownScalar(unsigned i);
  /// One number as an integer, the nearest one below 2^62 if it is beyond that,
  /// so that sums of two never overflow.
  int64_t knownInteger(unsigned i);
  /// A short list of floats.
  std::vector<double> knownFloats(unsigned i);
  bool isKnown(unsigned i);
  /// Whether a node computes it from what is not known.
  bool isComputed(unsigned i);
  /// Whether an exponent or a bound is known and no parameter.
  bool isNumber(unsigned i);
  /// The element type of an input, known or not; null if it is not supported.
  mlir::Type typeOfInput(unsigned i);
  /// The dimensions of an input, known or not; nothing becomes data by that.
  llvm::SmallVector<int64_t> shapeOfInput(unsigned i);

  /// Whether input `i` never changes and is small enough to compute with.
  bool isConstant(unsigned i);
  /// Its elements; without any after an error.
  KnownTensor constant(unsigned i);
  /// Fails with a message if a constant of this shape would be too large.
  bool fitsConstant(llvm::ArrayRef<int64_t> shape);
  /// `make(i)` for every i below `count`; nothing, after an error, if they
  /// would be too many for a constant.
  llvm::SmallVector<int64_t> places(int64_t count,
                                    llvm::function_ref<int64_t(int64_t)> make);
  /// 0, 1, .. `count` - 1, likewise.
  llvm::SmallVector<int64_t> range(int64_t count);

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
  /// Without any if the attribute is absent.
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

  /// Nothing is emitted where the shape stays.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  // Constants; null after an error, when their elements may be missing.
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
  /// What is known here, as data.
  mlir::Value data(const KnownTensor &known);
  /// The elements under another type, if they have another.
  mlir::Value castTo(mlir::Value value, mlir::Type element);
  /// What Expand does; `shape` must be one that `value` broadcasts to.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// Positions [begin, begin + count) of dimension `dim`.
  mlir::Value part(mlir::Value value, int64_t dim, int64_t begin,
                   int64_t count);
  /// Along `axis` the elements at `places`, zero where that is -1.
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

  /// Whether anything uses output `i`.
  bool isOutputUsed(unsigned i) const;
  /// The shape of an output that its inputs do not tell, of an image whose
  /// gradient comes back: the file's declaration, which must go with [N, C] of
  /// `grad`.
  llvm::SmallVector<int64_t> shapeOfOutput(unsigned i,
                                           llvm::ArrayRef<int64_t> grad);
  /// Fails with a message if something does: `why` follows "output 1 'x' ".
  void refuseOutput(unsigned i, llvm::StringRef why);
  /// Fails if `value` is null or the node has failed; skips an absent output.
  mlir::LogicalResult setOutput(unsigned i, mlir::Value value);
  /// An output is a value that there is already, known or not; without
  /// gradients if `--detach` says so.
  mlir::LogicalResult setShared(unsigned i, std::shared_ptr<GraphValue> value);
  /// Output 0 is input 0, known or not.
  mlir::LogicalResult forwardInput();
  /// An output is known at import.
  mlir::LogicalResult setKnown(mlir::ElementsAttr value, unsigned output = 0);
  mlir::LogicalResult setKnown(const onnx::TensorProto &tensor);
  /// The same, computed here.
  mlir::LogicalResult setKnown(const KnownTensor &value, unsigned output = 0);

  /// For ops that are computed at import alone: names the input that is no
  /// constant.
  mlir::LogicalResult refuse();

  const onnx::NodeProto &proto;
  const mlir::Location loc;
  GraphImporter &graph;

private:
  mlir::LogicalResult runRow(const OpRow &row);
  bool hasOnlyConstants();
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
};

/// Whether the elements of a tensor are floats.
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

/// The import function of ops that constants alone may feed.
inline mlir::LogicalResult refuseData(ImportedNode &node) {
  return node.refuse();
}

/// "32x64xf32"
std::string typeText(mlir::Type type);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_GRAPH_IMPORTEDNODE_H
