//===- GraphImporter.h - The graph becomes a module -------------*- C++ -*-===//
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

/// What a name of the graph stands for. Initializers and constants become ops
/// when, and only if, a node uses them as data: shapes, axes and ratios are
/// read at import and leave no trace.
struct GraphValue {
  mlir::Value value;                         ///< Null until it is data.
  const onnx::TensorProto *tensor = nullptr; ///< Initializer, Constant node.
  bool isInitializer = false;
  mlir::ElementsAttr constant; ///< Without a TensorProto.
  mlir::Location loc;          ///< Who defines it.
  bool isSequence = false;
  std::vector<std::shared_ptr<GraphValue>> elements = {}; ///< In a sequence.

  /// Whether its value is known at import.
  bool isKnown() const { return tensor || constant; }
};

/// Counts the ops that a builder makes, also those that are erased again.
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
  /// `step`, if not null, is what the model says of training.
  GraphImporter(std::shared_ptr<const ModelFile> model, int64_t opset,
                const TrainingStep *step, const ImportOptions &options,
                mlir::MLIRContext *context, ImportResult &result);

  /// Fills `result`; on failure sets its error after diagnostics.
  void run();

  // What nodes need.
  mlir::OpBuilder builder; ///< Before the terminator of `predict`.
  const int64_t opset;
  const mlir::FloatType floatType;

  /// What becomes of ops that differ in training: a model without a step of its
  /// own gets all functions from one, `predict`; other functions are either for
  /// inference or compute what the file says.
  enum class Form { Either, Inference, Exact };
  Form form = Form::Either;

  /// The entry of a name that checkModel knows to be defined.
  GraphValue &lookup(llvm::StringRef name) { return *values.lookup(name); }
  bool isUsed(llvm::StringRef name) const { return used.contains(name); }

  /// The value as data: emits the read of its state, or a constant. Null after
  /// a diagnostic.
  mlir::Value materialize(GraphValue &value);

  /// The read of the state of a BatchNormalization statistic.
  mlir::Value materializeStatistic(int node, int input, bool isConstant);

  /// Whether training leaves the statistics of this BatchNormalization as they
  /// are.
  bool freezesStatistics(int node, mlir::Value scale, mlir::Value bias);

  /// The integers a known value holds; nullopt after a diagnostic at `loc`.
  std::optional<llvm::SmallVector<int64_t>>
  readIntegers(const GraphValue &value, mlir::Location loc,
               llvm::StringRef label);

  /// The one number a known value holds, likewise.
  std::optional<double> readScalar(const GraphValue &value, mlir::Location loc,
                                   llvm::StringRef label);

  /// Whether the value never changes and is small enough to compute with at
  /// import. A float initializer may be trained; it is not.
  bool isConstant(const GraphValue &value);

  /// The elements of such a value, likewise.
  std::optional<KnownTensor> readConstant(const GraphValue &value,
                                          mlir::Location loc,
                                          llvm::StringRef label);

  /// Counts a constant that was computed. Fails after a diagnostic at `loc` if
  /// all together have more elements than they may.
  mlir::LogicalResult addConstant(mlir::DenseElementsAttr value,
                                  mlir::Location loc);

  /// Defines an output; `value` is copied, so an alias shares what it knows.
  void define(llvm::StringRef name, std::shared_ptr<GraphValue> value) {
    values[name] = std::move(value);
  }
  std::shared_ptr<GraphValue> share(llvm::StringRef name) {
    return values.lookup(name);
  }

  /// Counts the elements of a result. Fails after a diagnostic at `loc` when
  /// all results together have more than one tensor may have: a program that no
  /// machine can run would still take its time to compile.
  mlir::LogicalResult addElements(int64_t count, mlir::Location loc);

  /// Fails after a diagnostic at `loc` if more ops were made than may be.
  mlir::LogicalResult checkOps(mlir::Location loc);

  /// Counts the elements of a sequence; each is a separate list.
  /// Fails after a diagnostic at `loc` if all have more than 2^24.
  mlir::LogicalResult addSequence(int64_t length, mlir::Location loc);

  /// Imports the nodes of a subgraph, whose inputs are defined. Initializers
  /// of its own are constants.
  mlir::LogicalResult importBody(const onnx::GraphProto &body);

  /// The number of the next op that makes random numbers.
  int64_t nextRandom() { return numRandom++; }

  /// Whether `--detach` names this value: no gradient flows back from it.
  bool isDetached(llvm::StringRef name) { return detach.match(name); }

  /// Whether an exponent or a bound is a parameter, as PyTorch's signature or
  /// `--train` has it, and not a number of the model's code. Without these a
  /// list of one is a parameter, and a number without dimensions is said to be
  /// none.
  bool isTrainedArgument(const GraphValue &value);

  /// Says, before it is data, that a recurrent op starts from it. Where that is
  /// an initializer of equal numbers, as exporters leave of states that nobody
  /// gave, it is no parameter unless PyTorch's signature or `--train` says so.
  void useAsStart(const GraphValue &value);
  /// The same of what weighs the classes of a loss, which has no gradient;
  /// whatever it holds.
  void useAsClassWeights(const GraphValue &value);

  /// Whether the model's own step changes this initializer.
  bool isState(llvm::StringRef name) const {
    return step && step->states.contains(name);
  }

  /// Says that `gradient` is one with respect to `x`.
  void addGradient(mlir::Value x, mlir::Value gradient) {
    gradients.emplace_back(x, gradient);
  }

  /// Says that another gradient is taken of what `value` is computed from:
  /// gradients among that are part of the forward pass, not ones to update by.
  void useInGradient(mlir::Value value);

  /// The row of a table whose lookups train nothing; nullopt if there is none.
  std::optional<int64_t> paddingRowOf(const GraphValue &table) {
    return table.isInitializer ? padding.find(table.tensor->name())
                               : std::nullopt;
  }

  /// The shape that the file declares for a value that is no input; empty
  /// without a declaration, 0 where an extent is not known.
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

  /// How many errors were said since this importer was made.
  unsigned errorCount() const { return numErrors; }

  /// Emits an llvm::Error at `loc`, after `label`, and keeps its kind.
  mlir::LogicalResult report(llvm::Error error, mlir::Location loc,
                             llvm::StringRef label = "");

private:
  mlir::LogicalResult importGraph();

  // A model's own step (ImportStep.cpp).
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
  mlir::Value readOwnState(const onnx::TensorProto &tensor);
  mlir::LogicalResult writeOwnState(const TrainingStep::Binding &binding,
                                    mlir::Value value, int64_t update);
  mlir::LogicalResult importBeginnings();
  mlir::Value checkBeginning(train::StateOp state, mlir::Value value,
                             const TrainingStep::Binding &binding);
  mlir::LogicalResult setBeginning(train::StateOp state,
                                   mlir::ElementsAttr value,
                                   const TrainingStep::Binding &binding);
  void classifyStates();
  void findRates();
  mlir::FailureOr<std::string> findLoss();
  mlir::Value toLoss(mlir::Value value);

  mlir::InFlightDiagnostic exceedLimit(mlir::Location loc);
  /// Adds `count` to `total`. Fails after a diagnostic at `loc`, which
  /// `message` ends, if that is more than `limit`.
  mlir::LogicalResult spend(int64_t &total, int64_t count, int64_t limit,
                            mlir::Location loc, llvm::StringRef message);
  mlir::LogicalResult countRead(int64_t count, mlir::Location loc);
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
  void leaveName(llvm::StringRef name);
  mlir::Value makeConstant(const GraphValue &value);
  mlir::FailureOr<mlir::ElementsAttr>
  elementsOf(const onnx::TensorProto &tensor, mlir::Location loc);
  /// What becomes of a float initializer, and why.
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
  llvm::StringMap<unsigned> used; // How often nodes and outputs use a name.
  llvm::StringSet<> trained;      // Initializers that became parameters.
  llvm::DenseSet<mlir::Value> frozenReads; // Reads of those that would have.
  NamePatterns freeze{"option 'freeze'", "initializer that the graph uses"};
  NamePatterns train{"option 'train'", "initializer that the graph uses"};
  NamePatterns trainOnly{"option 'train-only'",
                         "initializer that the graph uses"};
  llvm::StringSet<>
      frozen; // Trainable initializers that patterns keep constant.
  NamePatterns detach{"option 'detach'", "value that a node computes"};
  PaddingRows padding;
  // BatchNormalization nodes, and those that nobody but us froze.
  unsigned numNorms = 0, numFrozenNorms = 0, numEvalNorms = 0;
  bool hasTrainingNorm = false;
  llvm::StringMap<train::StateOp> states;
  llvm::StringMap<mlir::Value> stateReads; // By state, in this function.
  mlir::func::FuncOp function;
  mlir::Operation *insertStatesBefore = nullptr;
  std::vector<std::pair<std::string, std::string>> aliases;
  // Parts of the model's own training step.
  llvm::SmallVector<const onnx::ValueInfoProto *> stepInputs;
  llvm::StringMap<mlir::Value> updated; // States that updates have changed.
  std::vector<std::pair<mlir::Value, mlir::Value>> gradients;
  llvm::SetVector<llvm::StringRef> rates; // States: how far updates go.
  llvm::StringSet<> ambiguous;            // Initializers of several graphs.
  std::string lossName;
  llvm::StringMap<Use> uses; // Uses of initializers found so far.
  int64_t numRandom = 0;
  int64_t numNested = 0; // Nodes of bodies that were imported.
  OpCounter ops;
  int64_t numElements = 0; // Elements in all results so far.
  // Constants computed so far, and how many elements they had.
  llvm::DenseSet<mlir::Attribute> knownConstants;
  int64_t numKnownDistinct = 0, numKnownTotal = 0;
  int64_t numKnownRead = 0; // As often as they are read.
  int64_t numInSequences = 0;
  llvm::SetVector<llvm::StringRef> bodyWeights; // Initializers of subgraphs.
  unsigned numWidened = 0; // Initializers of f16 or bf16, said once.
  unsigned numErrors = 0;
  const mlir::ScopedDiagnosticHandler countErrors;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_GRAPH_GRAPHIMPORTER_H
