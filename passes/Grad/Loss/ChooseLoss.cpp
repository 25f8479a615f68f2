//===- ChooseLoss.cpp - Choose the loss of a model ------------------------===//

#include "passes/Grad/Loss/ChooseLoss.h"

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Faults.h"
#include "passes/Options/Loss/LossText.h"
#include "passes/Options/OptionText.h"

using namespace mlir;
using namespace mpc;

/// Returns true if `value` depends on a loss op.
static bool dependsOnLoss(Value value) {
  SmallVector<Value> work = {value};
  llvm::SmallPtrSet<Operation *, 32> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (findLoss(next))
      return true;
    Operation *op = next.getDefiningOp();
    if (op && seen.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// "'a', 'b', 'c'" for the outputs of `func` that `indices` name.
static std::string listOutputs(func::FuncOp func, ArrayRef<unsigned> indices) {
  std::string text;
  for (unsigned index : indices)
    text += (text.empty() ? "'" : ", '") + resultName(func, index).str() + "'";
  return text;
}

/// `wanted`, or `wanted_2`, ... if an input has the name already.
static std::string freshInputName(func::FuncOp func, StringRef wanted) {
  auto taken = [&](StringRef name) {
    return llvm::any_of(llvm::seq(func.getNumArguments()), [&](unsigned i) {
      return argumentName(func, i) == name;
    });
  };
  std::string name = wanted.str();
  for (int i = 2; taken(name); ++i)
    name = (wanted + "_" + Twine(i)).str();
  return name;
}

/// Chooses the names of the inputs that the losses compare with: "labels" and
/// "targets", with the name of the output if there are several of them. Losses
/// of one output share its labels, and its targets.
static void nameTargets(func::FuncOp predict,
                        MutableArrayRef<LossChoice> terms) {
  for (LossChoice &term : terms) {
    if (term.inGraph || !takesInput(term.kind))
      continue;
    std::string wanted = term.takesLabels() ? "labels" : "targets";
    bool isOnly = llvm::all_of(terms, [&](const LossChoice &other) {
      return !takesInput(other.kind) ||
             other.takesLabels() != term.takesLabels() ||
             other.output == term.output;
    });
    if (!isOnly)
      wanted += "_" + resultName(predict, term.output).str();
    term.target = freshInputName(predict, wanted);
  }
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

static FailureOr<unsigned> findOutput(func::FuncOp predict, StringRef name) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, predict.getNumResults()));
  for (unsigned i : all)
    if (resultName(predict, i) == name)
      return i;
  return emitUsageError(predict.getLoc())
         << "the model has no output '" << name << "'; its "
         << (all.size() == 1 ? "only output is " : "outputs are ")
         << listOutputs(predict, all);
}

/// The output to apply a loss to if none is named: there must be only one.
static FailureOr<unsigned> onlyOutput(func::FuncOp predict) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, predict.getNumResults()));
  if (all.size() == 1)
    return 0;
  return predict.emitError("the model has ")
         << Fault::NoLoss << all.size() << " outputs ("
         << listOutputs(predict, all)
         << ") and no loss; use option 'loss'=output:NAME if one of them is "
            "the loss, or option 'loss'=KIND:NAME to compute a loss from one "
            "of them";
}

Value mpc::findPrediction(Value output, const LossChoice &choice) {
  Operation *op = output.getDefiningOp();
  if (choice.hasClassAxis()) {
    uint64_t axis = choice.classes.axis;
    if (auto softmax = dyn_cast_or_null<train::SoftmaxOp>(op))
      if (softmax.getAxis() == axis)
        return softmax.getInput();
    if (auto softmax = dyn_cast_or_null<train::LogSoftmaxOp>(op))
      if (softmax.getAxis() == axis)
        return softmax.getInput();
  }
  if (choice.kind == LossKind::BinaryCrossEntropyWithLogits ||
      choice.kind == LossKind::SigmoidFocal)
    if (auto sigmoid = dyn_cast_or_null<train::SigmoidOp>(op))
      return sigmoid.getInput();
  return output;
}

//===----------------------------------------------------------------------===//
// Options of losses
//===----------------------------------------------------------------------===//

static bool takesOption(const LossChoice &choice, StringRef option) {
  if (choice.inGraph)
    return false;
  const LossRow &row = lossRows()[static_cast<size_t>(choice.kind)];
  return llvm::is_contained(row.takes, option);
}

/// Calls `visit` with the name of each option that changes a loss and is not
/// the default.
static void visitGivenOptions(const LossOptions &options,
                              llvm::function_ref<void(StringRef)> visit) {
  const LossOptions defaults;
  std::vector<Texts> byDefault;
  visitOptions(defaults, [&](OptionId id, const auto &field) {
    byDefault.push_back(writeValue(optionRow(id), field));
  });
  size_t index = 0;
  visitOptions(options, [&](OptionId id, const auto &field) {
    // These choose a loss, or have errors of their own.
    bool isOther = id == OptionId::loss || id == OptionId::labelAxis ||
                   id == OptionId::labelSmoothing;
    const OptionRow &row = optionRow(id);
    if (writeValue(row, field) != byDefault[index++] && !isOther)
      visit(row.name);
  });
}

std::string mpc::findLossOption(const LossOptions &options) {
  std::string found;
  visitGivenOptions(options, [&](StringRef name) {
    if (found.empty())
      found = name.str();
  });
  return found;
}

/// Reports an option that no loss of the sum takes.
static LogicalResult checkOptionsApply(func::FuncOp predict,
                                       const LossOptions &options,
                                       ArrayRef<LossChoice> terms) {
  std::string unused;
  visitGivenOptions(options, [&](StringRef name) {
    bool isTaken = llvm::any_of(terms, [&](const LossChoice &term) {
      return takesOption(term, name) ||
             (name == "sample-weights" && !term.inGraph);
    });
    if (!isTaken && unused.empty())
      unused = name.str();
  });
  if (unused.empty())
    return success();
  if (terms.front().inGraph)
    return emitUsageError(predict.getLoc())
           << "option '" << unused << "' does not apply: the loss is output '"
           << resultName(predict, terms.front().output) << "' of the model";
  std::vector<std::string> names;
  for (const LossRow &row : lossRows())
    if (llvm::is_contained(row.takes, unused))
      names.push_back(row.name);
  return emitUsageError(predict.getLoc())
         << "option '" << unused << "' has no effect with "
         << lossName(terms.front().kind)
         << "; it requires option 'loss'=" << joinWords(names);
}

/// Checks the number of weights of an option against the output's `wanted`
/// `things`.
static LogicalResult checkCount(func::FuncOp predict, const LossChoice &choice,
                                const char *option, const std::string &text,
                                int64_t wanted, const char *things) {
  std::optional<std::vector<double>> numbers = parseNumbers(text);
  if (!numbers)
    return emitUsageError(predict.getLoc())
           << "option '" << option << "'=" << text
           << " must be computed from data; give one number for each class";
  if (static_cast<int64_t>(numbers->size()) == wanted)
    return success();
  return emitUsageError(predict.getLoc())
         << "option '" << option << "' has " << numbers->size()
         << (numbers->size() == 1 ? " number" : " numbers") << ", but output '"
         << resultName(predict, choice.output) << "' has " << wanted << " "
         << things << " ("
         << shapeText(typeOf(getReturn(predict).getOperand(choice.output)))
         << ")";
}

static LogicalResult checkWeights(func::FuncOp predict,
                                  const LossChoice &choice,
                                  RankedTensorType type) {
  const LossOptions &options = choice.options;
  if (takesOption(choice, "class-weights") && !options.classWeights.empty())
    return checkCount(predict, choice, "class-weights", options.classWeights,
                      type.getDimSize(choice.classes.axis), "classes");
  // A single weight is that of all columns.
  bool isSingle = options.posWeight.find(',') == std::string::npos;
  if (takesOption(choice, "pos-weight") && !isSingle)
    return checkCount(predict, choice, "pos-weight", options.posWeight,
                      type.getRank() == 0 ? 1 : type.getShape().back(),
                      "columns");
  return success();
}

/// Checks that the output has the dimensions that the loss needs.
static LogicalResult checkShape(func::FuncOp predict, const LossChoice &choice,
                                RankedTensorType type) {
  StringRef output = resultName(predict, choice.output);
  StringRef name = lossName(choice.kind);
  int64_t axis = choice.classes.axis;
  if (choice.hasClassAxis() &&
      (type.getRank() < 2 || type.getDimSize(axis) < 2))
    return predict.emitError()
           << Fault::NoLoss << name
           << " needs an output [N, C, ..] of two classes or more, "
           << "but '" << output << "' is " << shapeText(type)
           << (axis == 1 ? "" : ", with classes along axis ")
           << (axis == 1 ? "" : std::to_string(axis));
  for (unsigned other : choice.others)
    if (getReturn(predict).getOperand(other).getType() != type)
      return predict.emitError()
             << Fault::NoLoss << name
             << " needs outputs of one shape and type, but '" << output
             << "' is " << shapeText(type) << " and '"
             << resultName(predict, other) << "' is "
             << shapeText(typeOf(getReturn(predict).getOperand(other)));
  bool hasVectors =
      choice.kind == LossKind::Cosine || choice.kind == LossKind::Triplet;
  if (hasVectors && type.getRank() < 2)
    return predict.emitError()
           << Fault::NoLoss << name
           << " needs an output [N, .., D] of vectors, but '" << output
           << "' is " << shapeText(type);
  if (choice.options.sampleWeights && type.getRank() == 0)
    return emitUsageError(predict.getLoc())
           << "option 'sample-weights' needs an output with one value for each "
           << "sample, but '" << output << "' is " << shapeText(type);
  return success();
}

/// "mse of output 'y' against input 'targets'".
static std::string describeOperands(func::FuncOp predict,
                                    const LossChoice &choice) {
  auto output = [&](unsigned index) {
    return ("'" + resultName(predict, index) + "'").str();
  };
  std::string text =
      (lossName(choice.kind) + " of output " + output(choice.output)).str();
  if (!choice.target.empty())
    text += " against input '" + choice.target + "'";
  if (choice.kind == LossKind::GaussianNegativeLogLikelihood)
    text += ", with the variance in output " + output(choice.others[0]);
  if (choice.kind == LossKind::Triplet)
    text += " against outputs " + output(choice.others[0]) + " and " +
            output(choice.others[1]);
  return text;
}

/// "0.1, 2 and 3", or "of 1000 classes" for long lists.
static std::string describeWeights(const std::string &text) {
  size_t count = parseNumbers(text).value_or(std::vector<double>()).size();
  constexpr size_t kMaxListed = 16;
  if (count > kMaxListed)
    return "for " + std::to_string(count) + " classes";
  return llvm::join(llvm::split(text, ','), " ");
}

/// ", ignoring label 0, class weights 1 2": the options that change the loss.
static std::string describeOptions(const LossChoice &choice) {
  const LossOptions &options = choice.options;
  auto takes = [&](const char *name) { return takesOption(choice, name); };
  std::string text;
  if (takes("ignore-index") && options.ignoreIndex)
    text += ", ignoring label " + std::to_string(*options.ignoreIndex);
  if (takes("class-weights") && !options.classWeights.empty())
    text += ", class weights " + describeWeights(options.classWeights);
  if (takes("pos-weight") && !options.posWeight.empty())
    text += ", positive weight " + describeWeights(options.posWeight);
  if (takes("huber-delta"))
    text += (choice.kind == LossKind::Huber ? ", delta " : ", beta ") +
            shortest(options.huberDelta);
  if (takes("triplet-margin"))
    text += ", margin " + shortest(options.tripletMargin);
  if (takes("focal-gamma"))
    text += ", gamma " + shortest(options.focalGamma);
  if (takes("focal-alpha") && options.focalAlpha != kUnset)
    text += ", alpha " + shortest(options.focalAlpha);
  return text;
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

/// Checks that the loss can be applied to the chosen output, and describes the
/// choice.
static LogicalResult describeChoice(func::FuncOp predict, bool isAsked,
                                    LossChoice &choice) {
  StringRef output = resultName(predict, choice.output);
  Value value = getReturn(predict).getOperand(choice.output);
  RankedTensorType type = typeOf(value);
  if (!isa<FloatType>(type.getElementType()))
    return predict.emitError("output '")
           << Fault::NoLoss << output << "' must be a float for a loss, but is "
           << shapeText(type);
  if (choice.inGraph) {
    choice.text = ("output '" + output + "' of the model").str();
    std::optional<Loss> loss = findLoss(value);
    if (loss)
      choice.text += (", " + lossName(loss->kind)).str();
    if (type.getNumElements() > 1)
      choice.why += "; training minimizes its mean";
    if (loss && loss->isMeanOfElements())
      choice.why += ", in which all elements count alike, also those of labels "
                    "that are ignored";
    return success();
  }

  if (failed(checkShape(predict, choice, type)) ||
      failed(checkWeights(predict, choice, type)))
    return failure();
  choice.text = describeOperands(predict, choice);
  if (choice.hasClassAxis() && type.getRank() > 2)
    choice.text +=
        ", classes along axis " + std::to_string(choice.classes.axis);
  choice.text += describeOptions(choice);
  bool suitsSigmoid = choice.kind == LossKind::MeanSquaredError && !isAsked;
  if (suitsSigmoid && value.getDefiningOp<train::SigmoidOp>())
    choice.why += "; '" + output.str() +
                  "' comes from sigmoid: for targets from 0 to 1 option "
                  "'loss'=bce-with-logits trains better";
  Value prediction = findPrediction(value, choice);
  if (prediction != value)
    choice.why += ("; '" + output + "' comes from " +
                   value.getDefiningOp()->getName().stripDialect() +
                   ", so the loss uses its input")
                      .str();
  return success();
}

/// Finds the class axis for a classification loss; for others an axis must not
/// be given.
static LogicalResult chooseAxis(func::FuncOp predict, int64_t asked,
                                LossChoice &choice) {
  if (!choice.hasClassAxis()) {
    if (asked == 0)
      return success();
    return emitUsageError(predict.getLoc())
           << "option 'label-axis'=" << asked << " has no effect with "
           << (choice.inGraph ? "a loss of the model's own"
                              : lossName(choice.kind));
  }
  if (typeOf(getReturn(predict).getOperand(choice.output)).getRank() < 2)
    return success(); // describeChoice reports the error.
  FailureOr<ClassAxis> found = findClassAxis(predict, choice.output, asked);
  if (failed(found))
    return failure();
  choice.classes = std::move(*found);
  return success();
}

/// Adds to the note which axis counts the classes, and how to change that.
static void explainAxis(bool isLossAsked, bool isAxisAsked,
                        LossChoice &choice) {
  if (choice.inGraph)
    return;
  // Whoever asks for both hears of both in describeChoice().
  bool hasAxis = choice.hasClassAxis() && !choice.classes.why.empty() &&
                 !(isLossAsked && isAxisAsked);
  if (hasAxis)
    choice.why += (isLossAsked ? "; " : ": ") + choice.classes.why +
                  (isAxisAsked ? ", as asked" : "");
  bool namesAxis = hasAxis && !isAxisAsked;
  if (!isLossAsked)
    choice.why +=
        namesAxis ? "; use option 'loss' and option 'label-axis' to change it"
                  : "; use option 'loss' to change it";
  else if (namesAxis)
    choice.why += "; use option 'label-axis' to change it";
}

/// Chooses the outputs of a loss that takes several: those that are named, or
/// all outputs of the model in their order.
static LogicalResult chooseOutputs(func::FuncOp predict,
                                   const LossTermText &term,
                                   LossChoice &choice) {
  SmallVector<unsigned> outputs;
  SmallVector<StringRef> names;
  if (term.output.empty())
    llvm::append_range(outputs,
                       llvm::seq<unsigned>(0, predict.getNumResults()));
  else
    StringRef(term.output).split(names, ',');
  for (StringRef name : names) {
    FailureOr<unsigned> output = findOutput(predict, name.trim());
    if (failed(output))
      return failure();
    outputs.push_back(*output);
  }
  size_t wanted = lossRows()[static_cast<size_t>(choice.kind)].outputs;
  if (outputs.size() != wanted)
    return emitUsageError(predict.getLoc())
           << term.kind << " takes " << wanted << " outputs, but there are "
           << outputs.size() << "; use option 'loss'=" << term.kind
           << (wanted == 2 ? ":MEAN,VARIANCE" : ":ANCHOR,POSITIVE,NEGATIVE");
  choice.output = outputs.front();
  choice.others.assign(outputs.begin() + 1, outputs.end());
  return success();
}

/// Follows one term of the option `loss`: output:NAME, KIND or KIND:NAME.
static LogicalResult chooseByOption(func::FuncOp predict,
                                    const LossTermText &term,
                                    LossChoice &choice) {
  choice.inGraph = term.kind == "output";
  std::optional<LossKind> known = parseLossName(term.kind);
  if (!choice.inGraph && !known)
    return emitUsageError(predict.getLoc())
           << "unknown loss '" << term.kind << "'; use "
           << joinWords(lossNames()) << ", or output:NAME";
  choice.kind = known.value_or(choice.kind);
  if (known && lossRows()[static_cast<size_t>(*known)].outputs > 1) {
    if (failed(chooseOutputs(predict, term, choice)))
      return failure();
  } else {
    FailureOr<unsigned> output = term.output.empty()
                                     ? onlyOutput(predict)
                                     : findOutput(predict, term.output);
    if (failed(output))
      return failure();
    choice.output = *output;
  }
  choice.share = term.share;
  choice.why = "as asked";
  return success();
}

/// Whether an output is one number that does not belong to a single sample.
static bool isOneNumber(func::FuncOp predict, unsigned output) {
  RankedTensorType type = typeOf(getReturn(predict).getOperand(output));
  if (!isa<FloatType>(type.getElementType()) || type.getNumElements() != 1)
    return false;
  auto isOneSample = [](BlockArgument input) {
    RankedTensorType type = typeOf(input);
    return type.getRank() > 0 && type.getDimSize(0) == 1;
  };
  return type.getRank() == 0 ||
         (!predict.getResultAttr(output, kBatchDimAttr) &&
          llvm::none_of(predict.getArguments(), isOneSample));
}

/// Takes the loss of the graph: the output of a loss op, else an output that is
/// one number. Otherwise chooses a loss that fits the shape of the output.
static LogicalResult chooseByGraph(func::FuncOp predict, int64_t labelAxis,
                                   LossChoice &choice) {
  SmallVector<unsigned> losses;
  for (auto [i, value] : llvm::enumerate(getReturn(predict).getOperands()))
    if (dependsOnLoss(value))
      losses.push_back(i);
  if (losses.size() > 1)
    return predict.emitError("several outputs are losses (")
           << Fault::NoLoss << listOutputs(predict, losses)
           << "); use option 'loss'=output:NAME to choose";
  if (losses.size() == 1) {
    choice.inGraph = true;
    choice.output = losses.front();
    choice.why = "found in the model";
    return success();
  }

  SmallVector<unsigned> numbers;
  for (unsigned i : llvm::seq(predict.getNumResults()))
    if (isOneNumber(predict, i))
      numbers.push_back(i);
  if (numbers.size() == 1) {
    choice.inGraph = true;
    choice.output = numbers.front();
    choice.why =
        "the model's only scalar output; use option 'loss' to change it";
    return success();
  }

  FailureOr<unsigned> output = onlyOutput(predict);
  if (failed(output))
    return failure();
  choice.output = *output;
  RankedTensorType type = typeOf(getReturn(predict).getOperand(*output));
  choice.why = "chosen from the output's shape " + shapeText(type);
  bool isAsked = labelAxis != 0;
  if (type.getRank() == 2 && (isAsked || type.getDimSize(1) >= 2))
    choice.kind = LossKind::CrossEntropy;
  if (type.getRank() <= 2)
    return success();
  FailureOr<ClassAxis> classes = findClassAxis(predict, *output, labelAxis);
  if (failed(classes))
    return failure();
  if (isAsked || classes->fitsInput)
    choice.kind = LossKind::CrossEntropy;
  return success();
}

/// Chooses the losses without describing them.
static LogicalResult chooseTerms(func::FuncOp predict,
                                 const LossOptions &options,
                                 SmallVectorImpl<LossChoice> &terms) {
  if (options.loss.empty())
    return chooseByGraph(predict, options.labelAxis, terms.emplace_back());
  for (const LossTermText &term : splitLoss(options.loss))
    if (failed(chooseByOption(predict, term, terms.emplace_back())))
      return failure();
  return success();
}

/// Finds the class axes of all losses. If only some have one, the option is
/// about these.
static LogicalResult chooseAxes(func::FuncOp predict, int64_t asked,
                                MutableArrayRef<LossChoice> terms) {
  bool hasAxis = llvm::any_of(
      terms, [](const LossChoice &term) { return term.hasClassAxis(); });
  for (LossChoice &term : terms) {
    bool isAsked = term.hasClassAxis() || !hasAxis;
    if (failed(chooseAxis(predict, isAsked ? asked : 0, term)))
      return failure();
  }
  return success();
}

/// Combines the descriptions of all losses.
static void describeSum(LossSum &sum) {
  if (sum.isSingle()) {
    sum.text = sum.terms[0].text;
    sum.why = sum.terms[0].why;
  } else {
    sum.why = "as asked";
    for (const LossChoice &term : sum.terms) {
      sum.text += sum.text.empty() ? "" : " + ";
      sum.text += term.text;
      if (term.share != 1)
        sum.text += ", times " + shortest(term.share);
      sum.why += term.why.substr(std::strlen("as asked"));
    }
  }
  if (!sum.sampleWeights.empty())
    sum.text += ", weighted by input '" + sum.sampleWeights + "'";
}

FailureOr<LossSum> mpc::chooseLoss(func::FuncOp predict,
                                   const LossOptions &options) {
  LossSum sum;
  if (failed(chooseTerms(predict, options, sum.terms)) ||
      failed(chooseAxes(predict, options.labelAxis, sum.terms)) ||
      failed(checkOptionsApply(predict, options, sum.terms)))
    return failure();
  bool isAsked = !options.loss.empty();
  nameTargets(predict, sum.terms);
  for (LossChoice &term : sum.terms) {
    term.options = options;
    explainAxis(isAsked, options.labelAxis != 0, term);
    if (failed(describeChoice(predict, isAsked, term)))
      return failure();
  }
  if (options.sampleWeights)
    sum.sampleWeights = freshInputName(predict, "sample_weights");
  describeSum(sum);
  return sum;
}
