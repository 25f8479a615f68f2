//===- GraphImporter.h - Import of a graph into a module --------*- C++ -*-===//
//
// Internal to compiler/Import.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_GRAPH_GRAPHIMPORTER_H
#define MPC_COMPILER_IMPORT_GRAPH_GRAPHIMPORTER_H

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Import/File/TensorData.h"
#include "compiler/Import/Graph/Dimensions.h"
#include "compiler/Import/Graph/KnownTensor.h"
#include "compiler/Import/Import.h"
#include "compiler/Import/Initializers/NamePatterns.h"
#include "compiler/Import/Initializers/PaddingRows.h"
#include "compiler/Import/Initializers/Signature.h"
#include "compiler/Import/Initializers/Statistics.h"
#include "compiler/Import/TrainingStep/TrainingStep.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace mpc {

/// The value that a name of the graph stands for. Initializers and constants
/// become ops only when a node uses them as data: shapes, axes and ratios are
/// read at import and leave no trace.
struct GraphValue {
  mlir::Value value;                         ///< Null until it is materialized.
  const onnx::TensorProto *tensor = nullptr; ///< Initializer or Constant node.
  bool isInitializer = false;
  mlir::ElementsAttr constant; ///< A constant without a TensorProto.
  mlir::Location loc;          ///< The location of its definition.
  bool isSequence = false;
  std::vector<std::shared_ptr<GraphValue>> elements = {}; ///< In a sequence.

  /// Returns true if its value is known at import.
  bool isKnown() const { return tensor || constant; }
};

/// Counts the ops that a builder creates, including those that are erased
/// again.
struct OpCounter : mlir::OpBuilder::Listener {
  int64_t count = 0;
  void notifyOperationInserted(mlir::Operation *,
                               mlir::OpBuilder::InsertPoint) override {
    ++count;
  }
};

/// Imports a graph that checkModel has passed, node by node.
class GraphImporter {
public:
  /// `step`, if not null, is the own step of the model.
  GraphImporter(std::shared_ptr<const ModelFile> model, int64_t opset,
                const TrainingStep *step, const ImportOptions &options,
                mlir::MLIRContext *context, ImportResult &result);

  /// Fills in `result`; on failure sets its error after diagnostics.
  void run();

  // Members that import functions use.
  mlir::OpBuilder builder; ///< Inserts before the terminator of the function.
  const int64_t opset;
  const mlir::FloatType floatType;

  /// The form of ops that differ in training. In a model without an own step,
  /// all functions are derived from `predict`, whose ops can take either form;
  /// the functions of an own step are for inference or compute exactly what the
  /// file says.
  enum class Form { Either, Inference, Exact };
  Form form = Form::Either;

  /// The value of a name, which checkModel has checked to be defined.
  GraphValue &lookup(llvm::StringRef name) { return *values.lookup(name); }
  bool isUsed(llvm::StringRef name) const { return used.contains(name); }

  /// The value as data: emits the read of its state, or a constant. Null after
  /// a diagnostic.
  mlir::Value materialize(GraphValue &value);

  /// Emits the read of the state of a BatchNormalization statistic.
  mlir::Value materializeStatistic(int node, int input, bool isConstant);

  /// Returns true if training does not update the statistics of this
  /// BatchNormalization.
  bool freezesStatistics(int node, mlir::Value scale, mlir::Value bias);

  /// Whether a norm that trains on the statistics of its batch uses the batches
  /// of all ranks.
  bool syncsNorm() {
    result.numSyncedNorms += options.syncBatchNorm;
    return options.syncBatchNorm;
  }
  /// A norm uses the batch of each rank even so.
  void noteUnsyncedNorm() { ++numUnsyncedNorms; }

  /// The integers of a known value; nullopt after a diagnostic at `loc`.
  std::optional<llvm::SmallVector<int64_t>>
  readIntegers(const GraphValue &value, mlir::Location loc,
               llvm::StringRef label);

  /// The single number of a known value, likewise.
  std::optional<double> readScalar(const GraphValue &value, mlir::Location loc,
                                   llvm::StringRef label);

  /// Returns true if the value never changes and is small enough to compute
  /// with at import. False for float initializers that are trained, and for
  /// frozen weights.
  bool isConstant(const GraphValue &value);

  /// The elements of such a value, likewise.
  std::optional<KnownTensor> readConstant(const GraphValue &value,
                                          mlir::Location loc,
                                          llvm::StringRef label);
  /// Whether the data of a constant is `count` times the same.
  bool hasEqualSlices(const GraphValue &value, int64_t count);
  /// Counts elements of constants that a node reads; fails after a diagnostic
  /// if all nodes read too many.
  mlir::LogicalResult countRead(int64_t count, mlir::Location loc);

  /// Counts a computed constant. Fails after a diagnostic at `loc` if all
  /// computed constants exceed the limit of elements.
  mlir::LogicalResult addConstant(mlir::DenseElementsAttr value,
                                  mlir::Location loc);

  /// Defines an output; `value` is shared, so an alias has the same value.
  void define(llvm::StringRef name, std::shared_ptr<GraphValue> value) {
    values[name] = std::move(value);
  }
  std::shared_ptr<GraphValue> share(llvm::StringRef name) {
    return values.lookup(name);
  }

  /// Counts the elements of a result. Fails after a diagnostic at `loc` if all
  /// results together have more elements than one tensor may have: such a
  /// program cannot run on any machine, but would take long to compile.
  mlir::LogicalResult addElements(int64_t count, mlir::Location loc);

  /// Fails after a diagnostic at `loc` if the number of ops exceeds the limit.
  mlir::LogicalResult checkOps(mlir::Location loc);

  /// Counts the elements of a sequence; each sequence is a separate list. Fails
  /// after a diagnostic at `loc` if all sequences together have more than 2^24.
  mlir::LogicalResult addSequence(int64_t length, mlir::Location loc);

  /// Imports the nodes of a subgraph, whose inputs must be defined. The
  /// initializers of the subgraph are constants.
  mlir::LogicalResult importBody(const onnx::GraphProto &body);

  /// The number of the next op that draws random numbers.
  int64_t nextRandom() { return numRandom++; }

  /// Returns true if `--detach` names this value: no gradient flows back from
  /// it.
  bool isDetached(llvm::StringRef name) { return detach.matchAndMark(name); }

  /// Returns true if an exponent or a bound is a parameter rather than a number
  /// of the model's code: as PyTorch's signature or `--train` says. Without
  /// these, a list of one element is a parameter; a number without dimensions
  /// is not, which a note tells.
  bool isTrainedArgument(const GraphValue &value);

  /// Marks a value, before it is materialized, as the initial state of a
  /// recurrent op. An initializer of equal numbers, which exporters write for
  /// states that were not given, is then not a parameter unless PyTorch's
  /// signature or `--train` says so.
  void useAsInitialState(const GraphValue &value);
  /// The same for the class weights of a loss, which have no gradient, with any
  /// contents.
  void useAsClassWeights(const GraphValue &value);

  /// Returns true if the own step changes this initializer.
  bool isState(llvm::StringRef name) const {
    return step && step->states.contains(name);
  }

  /// Records `gradient` as a gradient with respect to `x`.
  void addGradient(mlir::Value x, mlir::Value gradient) {
    gradients.emplace_back(x, gradient);
  }

  /// Marks `value` as an input of another gradient: gradients that it is
  /// computed from are part of the forward pass and not used for updates.
  void useInGradient(mlir::Value value);

  /// The padding row of a table, whose lookups do not train it; nullopt if
  /// there is none.
  std::optional<int64_t> paddingRowOf(const GraphValue &table) {
    return table.isInitializer ? padding.find(table.tensor->name())
                               : std::nullopt;
  }

  /// The shape that the file declares for a value that is not an input; empty
  /// without a declaration, 0 for an unknown extent.
  llvm::SmallVector<int64_t> declaredShape(llvm::StringRef name) {
    for (const onnx::GraphProto *part : parts)
      for (const auto *values : {&part->value_info(), &part->output()})
        for (const onnx::ValueInfoProto &value : *values)
          if (value.name() == name)
            return dimensions.shapeOf(value);
    return {};
  }

  /// Remembers that an Identity node gives an initializer a second name.
  void addAlias(llvm::StringRef initializer, llvm::StringRef alias) {
    aliases.emplace_back(initializer, alias);
  }

  /// The number of errors since this importer was created.
  unsigned errorCount() const { return numErrors; }

  /// Emits an llvm::Error at `loc`, after `label`, and keeps its kind.
  mlir::LogicalResult report(llvm::Error error, mlir::Location loc,
                             llvm::StringRef label = "");

private:
  mlir::LogicalResult importGraph();

  // Import of an own step (ImportStep.cpp).
  mlir::LogicalResult importStep();
  mlir::LogicalResult refuseOptions();
  mlir::LogicalResult importPredict();
  mlir::LogicalResult importTrain();
  mlir::LogicalResult importEvaluate();
  void beginFunction(train::EntryRole role, Form functionForm);
  void beginGraphs(const TrainingStep::Graphs &graphs);
  mlir::LogicalResult defineSeed(const TrainingStep::Update &update);
  mlir::LogicalResult importNodes(const TrainingStep::Graphs &graphs,
                                  const llvm::StringSet<> &wanted);
  mlir::Value readStepState(const onnx::TensorProto &tensor);
  mlir::LogicalResult writeStepState(const TrainingStep::Binding &binding,
                                     mlir::Value value, int64_t update);
  mlir::LogicalResult importInitialValues();
  mlir::Value checkInitialValue(train::StateOp state, mlir::Value value,
                                const TrainingStep::Binding &binding);
  mlir::LogicalResult setInitialValue(train::StateOp state,
                                      mlir::ElementsAttr value,
                                      const TrainingStep::Binding &binding);
  void classifyStates();
  void findRates();
  mlir::FailureOr<std::string> findLoss();
  mlir::Value toLoss(mlir::Value value);

  mlir::InFlightDiagnostic exceedLimit(mlir::Location loc);
  /// Adds `count` to `total`. If that exceeds `limit`, fails after a diagnostic
  /// at `loc` that ends with `message`.
  mlir::LogicalResult addWithLimit(int64_t &total, int64_t count, int64_t limit,
                                   mlir::Location loc, llvm::StringRef message);
  mlir::LogicalResult checkInterface(size_t count, llvm::StringRef what);
  mlir::DictionaryAttr describeInterface(llvm::StringRef name, bool isBatched);
  mlir::LogicalResult importNode(const onnx::NodeProto &node, int index);
  bool seesAll(const onnx::NodeProto &node, llvm::StringSet<> &own);
  void countUses(const onnx::GraphProto &graph);
  mlir::LogicalResult
  importInputs(llvm::ArrayRef<const onnx::ValueInfoProto *> inputs);
  mlir::LogicalResult
  importOutputs(llvm::ArrayRef<const onnx::ValueInfoProto *> outputs);
  void defineInitializers(const onnx::GraphProto &graph);
  bool isControl(const onnx::TensorProto &tensor);
  mlir::LogicalResult checkOptions();
  mlir::LogicalResult checkPatterns();
  void noteDecisions();
  void noteNorms();
  void noteShared();
  void collectReaders(const onnx::GraphProto &graph,
                      llvm::StringMap<llvm::StringSet<>> &readers) const;
  void noteMissing();
  void noteFrozenNorms();
  mlir::LogicalResult checkOutput(const onnx::ValueInfoProto &output,
                                  mlir::Value value, mlir::Location loc);
  mlir::Value readState(const onnx::TensorProto &tensor, llvm::StringRef name,
                        train::StateRole role);
  void renameClashingEntry(llvm::StringRef name);
  mlir::Value makeConstant(const GraphValue &value);
  mlir::FailureOr<mlir::ElementsAttr>
  elementsOf(const onnx::TensorProto &tensor, mlir::Location loc);
  /// The use of a float initializer, and the reason for it.
  enum class Use {
    Trained,
    Frozen,
    Buffer,
    Number,
    Filling,
    PositionalTable,
    Mask,
    Argument,
    Start,
    ClassWeights
  };
  Use useOf(const onnx::TensorProto &tensor);
  Use decideUse(const onnx::TensorProto &tensor);
  /// The same without --freeze.
  Use decideUseUnfrozen(const onnx::TensorProto &tensor);
  bool isChosen(llvm::StringRef name);
  bool isDecided(const onnx::TensorProto &tensor);
  void noteModel();
  void noteCopies();
  void noteNonFinite();
  void noteDetached();
  void noteUses();
  void noteBodies();

  const std::shared_ptr<const ModelFile> model;
  const onnx::GraphProto &graph;
  const TrainingStep *const step;
  /// The graphs whose nodes are being imported.
  llvm::ArrayRef<const onnx::GraphProto *> parts;
  const ImportOptions &options;
  mlir::MLIRContext *const context;
  ImportResult &result;

  TensorReader tensors;
  Dimensions dimensions;
  Signature signature;
  Statistics statistics;
  llvm::StringMap<std::shared_ptr<GraphValue>> values;
  llvm::StringMap<unsigned> used; // Uses of each name by nodes and outputs.
  llvm::StringSet<> trained;      // Initializers that became parameters.
  llvm::DenseSet<mlir::Value> frozenReads; // Reads of frozen initializers.
  NamePatterns freeze{"option 'freeze'", "initializer that the graph uses"};
  NamePatterns train{"option 'train'", "initializer that the graph uses"};
  NamePatterns trainOnly{"option 'train-only'",
                         "initializer that the graph uses"};
  llvm::StringSet<> frozen; // Trainable initializers that options freeze.
  NamePatterns detach{"option 'detach'", "value that a node computes"};
  PaddingRows padding;
  // BatchNormalization nodes, and those that were frozen by default.
  unsigned numNorms = 0, numFrozenNorms = 0, numEvalNorms = 0;
  unsigned numUnsyncedNorms = 0;
  bool hasTrainingNorm = false;
  llvm::StringMap<train::StateOp> states;
  llvm::StringMap<mlir::Value> stateReads; // By state, in the current function.
  mlir::func::FuncOp function;
  mlir::Operation *insertStatesBefore = nullptr;
  std::vector<std::pair<std::string, std::string>> aliases;
  // Parts of the own step.
  llvm::SmallVector<const onnx::ValueInfoProto *> stepInputs;
  llvm::StringMap<mlir::Value> updated; // States that updates have changed.
  std::vector<std::pair<mlir::Value, mlir::Value>> gradients;
  llvm::SetVector<llvm::StringRef> rates; // States that are learning rates.
  llvm::StringSet<> ambiguous;            // Initializers of several graphs.
  std::string lossName;
  llvm::StringMap<Use> uses; // Uses of initializers found so far.
  int64_t numRandom = 0;
  int64_t numNested = 0; // Nodes of imported bodies.
  OpCounter ops;
  int64_t numElements = 0; // Elements in all results so far.
  // Constants computed so far, and how many elements they had.
  llvm::DenseSet<mlir::Attribute> knownConstants;
  int64_t numKnownDistinct = 0, numKnownTotal = 0;
  int64_t numKnownRead = 0; // Elements, counted once per read.
  int64_t numInSequences = 0;
  llvm::SetVector<llvm::StringRef> bodyWeights; // Initializers of subgraphs.
  unsigned numWidened = 0; // Initializers of f16 or bf16, for a single note.
  unsigned numErrors = 0;
  const mlir::ScopedDiagnosticHandler countErrors;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_GRAPH_GRAPHIMPORTER_H
