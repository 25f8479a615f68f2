//===- Compile.cpp - One compilation, from model to package ---------------===//
//
// Runs import and stages, writes dumps, generates code, writes the package.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "compiler/Export/AtomicFile.h"
#include "compiler/Import/File/ErrorFault.h"
#include "compiler/Import/Import.h"
#include "compiler/Report/Model/Complete.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Notes.h"
#include "compiler/Support/Precision/Precisions.h"
#include "compiler/Support/Threading.h"
#include "compiler/Target/Package.h"
#include "passes/Driver/DescribeProgram.h"
#include "passes/Driver/ImportOptions.h"
#include "passes/Driver/JoinBatches.h"
#include "passes/Driver/Pipeline.h"
#include "passes/Driver/ReferenceProgram.h"
#include "passes/Driver/ShareStates.h"
#include "passes/Driver/StepEstimate.h"
#include "passes/Driver/Targets.h"
#include "passes/Driver/Weights/InitialWeights.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Passes.h"
#include "passes/Options/OptimizerRows.h"
#include "passes/Options/PackageText.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mpc;

static std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

namespace {

/// The number of elements of all parameters, without the padding in packs.
uint64_t countTrained(ModuleOp module) {
  uint64_t count = 0;
  for (train::StateOp state :
       train::Program(module).states(train::StateRole::Parameter)) {
    if (!state.getSlots() || state.getSlots()->empty()) {
      count += cast<RankedTensorType>(state.getType()).getNumElements();
      continue;
    }
    for (auto slot : state.getSlots()->getAsRange<train::SlotAttr>())
      count += ShapedType::getNumElements(slot.getShape());
  }
  return count;
}

/// The batch size of `predict`; 0 if it has none.
int64_t ownBatch(ModuleOp module) {
  func::FuncOp predict =
      train::Program(module).entry(train::EntryRole::Predict);
  for (unsigned i = 0; i < predict.getNumArguments(); ++i)
    if (auto dim = predict.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr))
      return cast<RankedTensorType>(predict.getArgument(i).getType())
          .getDimSize(dim.getInt());
  return 0;
}

/// Weights with more hexadecimal characters are left out of the text of dumps.
constexpr int64_t kMaxDumpedCharacters = 16 * 1024;

class Compilation {
public:
  explicit Compilation(const CompileOptions &options,
                       std::optional<llvm::StringRef> bytes = std::nullopt)
      : options(options), bytes(bytes), messages(result.diagnostics),
        ownedContext(std::make_unique<MLIRContext>(availableThreading())),
        context(*ownedContext), handler(&context, options.model, messages),
        collector(&context, result.messages),
        // Import and checks name what is wrong with models.
        unnamed(&context, Fault::InternalError) {
    DialectRegistry registry;
    registry
        .insert<amp::AmpDialect, MpcDialect, train::TrainDialect,
                exec::ExecDialect, func::FuncDialect, arith::ArithDialect>();
    train::registerAmpLowering(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  CompileResult run() {
    result.failure = compile();
    if (!result.error.empty() && !result.fault)
      result.fault = faultOf(result.failure);
    result.precision = options.precision;
    return std::move(result);
  }

  /// Runs the stages up to and including precision.
  CompileResult lower(LoweredModule &lowered) {
    options.stopAfter = "precision";
    result.failure = compile();
    if (!failed(result.failure)) {
      const Device &first = devices.front();
      result.report = completeReport(first.report, first.recomputed, {},
                                     modulePaths, {}, sizes);
      lowered.module = std::move(devices.front().module);
      devices.clear();
      module = {};
      lowered.context = std::move(ownedContext);
    }
    return std::move(result);
  }

private:
  /// The compilation for one kind of device.
  struct Device {
    std::string name;   ///< "cuda".
    std::string suffix; ///< Suffix of its dumps if there are several devices.
    OwningOpRef<ModuleOp> module; ///< Its module, from the precision stage on.
    std::string report;           ///< kReportAttr,
    std::string recomputed;       ///< and kRecomputeReportAttr, or "".
    std::vector<std::string> notes;
    DeviceReport built;
  };

  /// The compilation for another batch size, until its entry points join those
  /// of each device.
  struct Variation {
    int64_t size;
    bool trains;
    OwningOpRef<ModuleOp> module; ///< As Compilation::module.
  };

  using Targets = std::vector<std::unique_ptr<DeviceTarget>>;

  ModelError compile() {
    result.error = checkOptions(options);
    if (!result.error.empty())
      return ModelError::Usage;
    auto found = findTargets(options);
    if (!found) {
      result.error = llvm::toString(found.takeError());
      return ModelError::Usage;
    }
    const Targets targets = std::move(*found);
    if (ModelError code =
            differentiate(toImportOptions(options), "", result.notes, module);
        failed(code))
      return code;
    if (ModelError code = addVariations(); failed(code))
      return code;
    if (options.stopAfter == "graph" || options.stopAfter == "grad")
      return ModelError::None;
    result.trainedElements = countTrained(*module);
    // With a profile, the budget for errors decides.
    if (options.precision == "auto" && options.profileFile.empty() &&
        !requiresNarrow(options))
      if (ModelError code = choosePrecision(leaderOf(targets)); failed(code))
        return code;
    if (ModelError code = assignFormats(targets); failed(code))
      return code;
    variations.clear();
    if (options.stopAfter == "precision")
      return ModelError::None;
    // This is the last stage that creates states, from the remaining constants.
    for (auto [target, device] : llvm::zip_equal(targets, devices))
      if (ModelError code = runStage(*device.module, "fusion", *target,
                                     device.suffix, device.notes);
          failed(code))
        return code;
    if (failed(shareStates(deviceModules())))
      return ModelError::Internal;
    if (options.stopAfter == "fusion")
      return ModelError::None;
    std::vector<PackageVariant> variants;
    for (auto [target, device] : llvm::zip_equal(targets, devices)) {
      variants.emplace_back();
      if (ModelError code = compileFor(*target, device, variants.back());
          failed(code))
        return code;
    }
    if (stopped())
      return ModelError::None;
    compareWithFp32();
    return writePackage(variants, modulePaths);
  }

  /// Runs the import and the stages that are the same for all devices.
  ModelError differentiate(const ImportOptions &importOptions,
                           const std::string &suffix,
                           std::vector<std::string> &notes,
                           OwningOpRef<ModuleOp> &made) {
    ImportResult imported =
        importModel(options.model, bytes, importOptions, context);
    llvm::append_range(notes, imported.notes);
    if (!imported.module)
      return imported.error;
    options.syncBatchNorm &= imported.numSyncedNorms > 0;
    if (ModelError code = takeWeights(imported, notes); failed(code))
      return code;
    made = std::move(imported.module);
    modulePaths = imported.modules;
    keepPaths(*made, modulePaths);
    if (ModelError code = takeOptimizer(*made, imported.optimizer, notes);
        failed(code))
      return code;
    result.frozenElements = imported.frozenElements;
    result.predictsOnly =
        !train::Program(*made).state(train::StateRole::Parameter);
    if (result.predictsOnly)
      (*made)->setAttr(kPredictOnlyAttr, UnitAttr::get(&context));
    if (result.predictsOnly && (options.observes() || options.profiles()))
      notes.push_back("option 'check-numerics' and option 'observe' "
                      "apply to training steps, but the model has none");
    if (ModelError code = dump(*made, "0-import" + suffix); failed(code))
      return code;
    for (llvm::StringRef stage : {"graph", "grad"}) {
      if (ModelError code =
              runStage(*made, stage, StageTarget(), suffix, notes);
          failed(code) || stage == options.stopAfter)
        return code;
    }
    return ModelError::None;
  }

  /// Replaces the weights of a model by those of option `init`.
  ModelError takeWeights(const ImportResult &imported,
                         std::vector<std::string> &notes) {
    if (options.init.empty())
      return ModelError::None;
    try {
      if (!weights)
        weights.emplace(options);
      notes.push_back(weights->applyTo(imported));
      return ModelError::None;
    } catch (const WeightsError &error) {
      result.error = error.what();
      if (error.kind == WeightsError::Usage)
        result.fault = Fault::WeightMismatch;
      return toModelError(error);
    }
  }

  /// Imports and differentiates the model for the other batch sizes, which must
  /// not be fixed in the model.
  ModelError addVariations() {
    auto add = [&](int64_t size, bool trains) {
      if (llvm::is_contained(sizes, size))
        return ModelError::None;
      sizes.push_back(size);
      ImportOptions importOptions = toImportOptions(options);
      importOptions.batch = size;
      importOptions.batchOption = trains ? "batch" : "eval-batch";
      Variation &variation = variations.emplace_back();
      variation.size = size;
      variation.trains = trains;
      std::vector<std::string> notes;
      ModelError code =
          differentiate(importOptions, ".batch" + std::to_string(size), notes,
                        variation.module);
      for (const std::string &note : notes)
        if (llvm::none_of(result.notes, [&](const std::string &other) {
              return haveSameWords(note, other);
            }))
          result.notes.push_back("batch " + std::to_string(size) + ": " + note);
      return code;
    };
    sizes = {options.batches.empty() ? ownBatch(*module)
                                     : options.batches.front()};
    for (int64_t size : options.batches)
      if (ModelError code = add(size, /*trains=*/true); failed(code))
        return code;
    for (int64_t size : options.evalBatches)
      if (ModelError code = add(size, /*trains=*/false); failed(code))
        return code;
    return ModelError::None;
  }

  /// Records the module path of each node, which rules can match.
  void keepPaths(ModuleOp module,
                 const std::map<std::string, std::string> &modules) {
    NamedAttrList paths;
    for (const auto &[node, path] : modules)
      if (!node.empty() && !path.empty())
        paths.append(node, StringAttr::get(&context, path));
    if (!paths.empty())
      module->setAttr(kModulePathsAttr, paths.getDictionary(&context));
  }

  /// The target that decides what all have in common: an accelerator gains more
  /// than the other devices lose.
  static const DeviceTarget &leaderOf(const Targets &targets) {
    auto accelerator = llvm::find_if(targets, [](const auto &target) {
      return target->backend.isAccelerator();
    });
    return accelerator == targets.end() ? *targets.front() : **accelerator;
  }

  /// Replaces the precision `auto` by fp32 if narrow formats are not faster on
  /// `target`, by the estimate for a program with them.
  ModelError choosePrecision(const DeviceTarget &target) {
    OwningOpRef<ModuleOp> trial = module->clone();
    PassManager manager(&context);
    for (const char *stage : {"precision", "fusion", "plan"})
      addStage(manager, stage, options, target);
    if (failed(manager.run(*trial)))
      return handler.sawUsageError() ? ModelError::Usage : ModelError::Internal;
    auto kernels = (*trial)->getAttrOfType<StringAttr>(kKernelReportAttr);
    std::optional<StepEstimate> step =
        estimateStep(kernels.getValue(), target.machine, options.accumulate);
    if (!step)
      return ModelError::None;
    std::string text = step->text("16 bit", target.machine);
    if (step->isFaster()) {
      result.notes.push_back("precision: auto is 16 bit: " + text);
      return ModelError::None;
    }
    result.notes.push_back("precision: auto is fp32, because 16 bit is not "
                           "faster: " +
                           text);
    options.precision = "fp32";
    return ModelError::None;
  }

  /// Reports if the chosen precision saves memory, but no time that matters.
  void compareWithFp32() {
    if (!precisionOf(options.precision).isMixed() ||
        options.precision == "auto")
      return;
    for (const Device &device : devices) {
      const DeviceReport &built = device.built;
      std::optional<StepEstimate> step =
          estimateStep(built.kernels, built.machine, options.accumulate);
      if (!step || step->isFaster() || step->isShort())
        continue;
      result.notes.push_back(
          "precision: " + options.precision + " saves memory, but no time: " +
          step->text(options.precision, built.machine) +
          "; option 'precision'=auto chooses the faster one");
      return;
    }
  }

  /// Runs the precision stage. Formats are chosen for each device separately,
  /// unless diagnosis or the storage of weights requires the same formats for
  /// all. With FP8, which CPUs emulate, CPUs use the formats of the GPU.
  ModelError assignFormats(const Targets &targets) {
    devices.reserve(targets.size());
    for (const auto &target : targets) {
      Device &device = devices.emplace_back();
      device.name = target->backend.name().str();
      if (targets.size() > 1)
        device.suffix = "." + device.name;
    }
    if (targets.size() > 1 &&
        (options.observes() || options.profiles() || options.injectable ||
         options.probe ||
         precisionOf(options.precision).layers == Precision::AllLayers ||
         options.masterWeights != "fp32"))
      return shareFormats(targets);
    for (auto [target, device] : llvm::zip_equal(targets, devices)) {
      device.module = module->clone();
      ModelError code = runPrecision(*device.module, *target, device);
      if (!failed(code))
        code = joinVariations(*device.module, *target, device);
      if (failed(code) || &device == &devices.back())
        takeNotesOfDevices();
      if (failed(code))
        return code;
    }
    if (failed(agreeOnConstants(deviceModules())))
      return ModelError::Internal;
    if (!haveOneAssignment())
      result.notes.push_back("precision: " + namesOfDevices() +
                             " have formats of their own; 'mpc report option "
                             "'device'=NAME' shows those of one");
    return ModelError::None;
  }

  /// Runs the precision stage once for all devices.
  ModelError shareFormats(const Targets &targets) {
    const DeviceTarget &leader = leaderOf(targets);
    Device all;
    ModelError code = runPrecision(*module, leader, all);
    if (!failed(code))
      code = joinVariations(*module, leader, all);
    llvm::append_range(result.notes, all.notes);
    if (failed(code))
      return code;
    if (precisionOf(options.precision).isMixed() ||
        precisionOf(options.precision).multipliesTf32())
      result.notes.push_back("precision: " + namesOfDevices() +
                             " get one assignment of formats, made for " +
                             leader.backend.name().str() +
                             "; give one option 'target' for another");
    for (Device &device : devices) {
      device.module = module->clone();
      device.report = all.report;
      device.recomputed = all.recomputed;
    }
    return ModelError::None;
  }

  ModelError runPrecision(ModuleOp module, const DeviceTarget &target,
                          Device &device) {
    if (ModelError code =
            runStage(module, "precision", target, device.suffix, device.notes);
        failed(code))
      return code;
    auto take = [&](StringRef name, std::string *text) {
      if (Attribute attribute = module->removeAttr(name))
        *text = cast<StringAttr>(attribute).getValue().str();
    };
    module->removeAttr(kModulePathsAttr);
    take(kReportAttr, &device.report);
    take(kRecomputeReportAttr, &device.recomputed);
    return ModelError::None;
  }

  /// Runs the precision stage for the other batch sizes as well, and adds their
  /// entry points to `module`.
  ModelError joinVariations(ModuleOp module, const DeviceTarget &target,
                            const Device &device) {
    SmallVector<OwningOpRef<ModuleOp>> modules;
    SmallVector<OtherBatch> others;
    for (Variation &variation : variations) {
      Device other; // Its report is that of the first batch size.
      other.suffix = ".batch" + std::to_string(variation.size) + device.suffix;
      modules.push_back(variation.module->clone());
      if (ModelError code = runPrecision(*modules.back(), target, other);
          failed(code))
        return code;
      others.push_back({variation.size, variation.trains, *modules.back()});
    }
    if (others.empty() || succeeded(joinBatches(module, others)))
      return ModelError::None;
    return handler.sawUsageError() ? ModelError::Usage : ModelError::Internal;
  }

  SmallVector<ModuleOp> deviceModules() {
    return llvm::map_to_vector(devices,
                               [](Device &device) { return *device.module; });
  }

  std::string namesOfDevices() const {
    return llvm::join(
        llvm::map_range(devices,
                        [](const Device &device) { return device.name; }),
        " and ");
  }

  /// Reports notes that apply to all devices once, and the others with the name
  /// of their device.
  void takeNotesOfDevices() {
    for (const Device &device : devices)
      for (const std::string &note : device.notes) {
        bool ofAll = llvm::all_of(devices, [&](const Device &other) {
          return !other.module || llvm::is_contained(other.notes, note);
        });
        if (!ofAll)
          result.notes.push_back(device.name + ": " + note);
        else if (&device == &devices.front())
          result.notes.push_back(note);
      }
  }

  bool haveOneReport() const {
    const Device &first = devices.front();
    return llvm::all_of(devices, [&](const Device &device) {
      return device.report == first.report &&
             device.recomputed == first.recomputed;
    });
  }

  /// The types of all results, op by op. If they are equal, reports differ at
  /// most in the reasons.
  static SmallVector<Type> formatsOf(const Device &device) {
    SmallVector<Type> types;
    device.module.get().walk([&](Operation *op) {
      llvm::append_range(types, op->getResultTypes());
    });
    return types;
  }

  bool haveOneAssignment() const {
    SmallVector<Type> first = formatsOf(devices.front());
    return llvm::all_of(devices, [&](const Device &device) {
      return formatsOf(device) == first;
    });
  }

  /// Takes the optimizer and its settings from the model, as far as it defines
  /// them, except for options that were given explicitly.
  ModelError takeOptimizer(ModuleOp module,
                           const std::optional<OptimizerChoice> &choice,
                           std::vector<std::string> &notes) {
    bool isOwn = module->hasAttr(kImportedStepAttr);
    result.optimizer = isOwn ? kImportedOptimizer.str() : options.optimizer;
    if (!isOwn)
      return ModelError::None;
    if (!choice)
      return refuseOptions(module);
    // The model does not bring its own update.
    module->removeAttr(kLearningRatesAttr);
    if (!choice->name.empty() && !options.given.count("optimizer")) {
      if (choice->name == "sgd")
        for (const char *name : {"betas", "epsilon"})
          if (options.given.count(name))
            return refuse(name,
                          "has no effect with the model's optimizer, sgd");
      auto take = [&](const char *name, auto &value, auto chosen) {
        if (!options.given.count(name))
          value = chosen;
      };
      options.optimizer = choice->name;
      options.correctBias = choice->correctsBias;
      take("betas", options.beta1, choice->beta1);
      take("betas", options.beta2, choice->beta2);
      // In the padding of a pack moments are 0, and 0 / 0 would be NaN.
      take("epsilon", options.epsilon, std::max(choice->epsilon, 1e-30));
      take("weight-decay", options.weightDecay, choice->weightDecay);
      take("clip-norm", options.clipNorm, choice->clipNorm);
      notes.push_back("optimizer: " + textOf(options) +
                      ", as in the model; use option 'optimizer' to change it");
    }
    result.optimizer = options.optimizer;
    return ModelError::None;
  }

  static std::string textOf(const CompileOptions &options) {
    OptimizerOptions choice = withDefaults(options.optimizer, options);
    std::string text = options.optimizer;
    if (options.optimizer != "sgd")
      text += " with betas " + number(choice.beta1) + " and " +
              number(choice.beta2) + ", epsilon " + number(choice.epsilon) +
              ", weight decay " + number(choice.weightDecay);
    if (!choice.correctBias)
      text += ", without bias correction";
    if (options.clipNorm > 0)
      text += ", gradients clipped to norm " + number(options.clipNorm);
    return text;
  }

  ModelError refuse(const std::string &option, const std::string &why) {
    result.error = "option '" + option + "' " + why;
    return ModelError::Usage;
  }

  /// Whether a model with its own step already decides this option.
  static bool decidesUpdate(const std::string &name) {
    const OptionRow *row = findOption(name);
    return !row || llvm::is_contained({"Accumulation", "Update", "Optimizer",
                                       "Schedule", "Masters"},
                                      StringRef(row->group));
  }

  /// Rejects options that cannot be set for the model's own step: only the
  /// number of steps and the learning rate can.
  ModelError refuseOptions(ModuleOp module) {
    auto rates = module->getAttrOfType<ArrayAttr>(kLearningRatesAttr);
    for (const std::string &name : options.given)
      if (decidesUpdate(name) && (name != "lr" || rates.empty()))
        return refuse(
            name,
            "does not apply: the model brings its own training step" +
                std::string(name == "lr"
                                ? ", which has no adjustable learning rate"
                                : ""));
    if (!options.given.count("lr"))
      return ModelError::None;
    for (auto name : rates.getAsRange<StringAttr>()) {
      auto state =
          SymbolTable::lookupNearestSymbolFrom<train::StateOp>(module, name);
      auto type = cast<RankedTensorType>(state.getType());
      Attribute rate = FloatAttr::get(type.getElementType(), options.lr);
      state.setInitialValueAttr(DenseElementsAttr::get(type, rate));
    }
    return ModelError::None;
  }

  bool stopped() const { return !options.stopAfter.empty(); }

  /// Runs the last stages and generates code.
  ModelError compileFor(const DeviceTarget &target, Device &device,
                        PackageVariant &variant) {
    for (llvm::StringRef stage : {"plan", "codegen"}) {
      if (ModelError code = runStage(*device.module, stage, target,
                                     device.suffix, device.notes);
          failed(code))
        return code;
      if (stage == options.stopAfter)
        return ModelError::None;
    }
    Attribute kernels = (*device.module)->removeAttr(kKernelReportAttr);
    if (llvm::Error error = target.generate(*device.module, variant))
      return reportFailure(std::move(error), *device.module);
    device.built = {variant.device, cast<StringAttr>(kernels).getValue().str(),
                    variant.assembled, target.machine};
    return ModelError::None;
  }

  /// Reports why code generation failed; returns the kind of failure.
  ModelError reportFailure(llvm::Error error, ModuleOp module) {
    ModelError code = ModelError::Internal;
    auto report = [&](const llvm::ErrorInfoBase &fault) {
      if (fault.convertToErrorCode() == llvm::inconvertibleErrorCode()) {
        module.emitError(fault.message());
        return;
      }
      // The failure concerns a file, not the model.
      result.error = fault.message();
      code = ModelError::Io;
    };
    llvm::handleAllErrors(std::move(error), report);
    return code;
  }

  /// Runs a stage and collects its notes for the user.
  ModelError runStage(ModuleOp module, llvm::StringRef stage,
                      const StageTarget &target, const std::string &suffix,
                      std::vector<std::string> &notes) {
    PassManager manager(&context);
    addStage(manager, stage.str(), options, target);
    bool done = succeeded(manager.run(module));
    llvm::append_range(notes, takeNotes(module));
    if (!done && handler.sawUsageError())
      return ModelError::Usage;
    size_t index = llvm::find(stageNames(), stage) - stageNames().begin();
    if (!done)
      // Errors in a user's model show in the first two stages; later failures
      // are internal errors.
      return index < 2 ? ModelError::Invalid : ModelError::Internal;
    return dump(module, std::to_string(index + 1) + "-" + stage.str() + suffix);
  }

  ModelError dump(ModuleOp module, const std::string &name) {
    if (options.dumpStages.empty())
      return ModelError::None;
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpStages)) {
      result.error = "cannot create folder '" + options.dumpStages +
                     "': " + error.message();
      return ModelError::Io;
    }
    llvm::SmallString<128> path(options.dumpStages);
    llvm::sys::path::append(path, name + ".mlir");
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(
        stream,
        OpPrintingFlags().elideLargeElementsAttrs(64).elideLargeResourceString(
            kMaxDumpedCharacters));
    if (ModelError code = write(path, text); failed(code))
      return code;
    // The complete module, from which mpc-opt can continue.
    std::string bytes;
    llvm::raw_string_ostream whole(bytes);
    if (failed(writeBytecodeToFile(module, whole)))
      return ModelError::Internal;
    llvm::sys::path::replace_extension(path, "mlirbc");
    return write(path, bytes);
  }

  /// Writes one report if all devices have the same types, else one for each.
  void completeReports(const std::map<std::string, std::string> &modules,
                       PackageContents &contents) {
    if (haveOneReport()) {
      const Device &first = devices.front();
      auto built = llvm::map_to_vector(
          devices, [](const Device &device) { return device.built; });
      result.report = completeReport(first.report, first.recomputed, built,
                                     modules, {}, sizes);
      contents.reports = {{"", result.report}};
      return;
    }
    for (const Device &device : devices) {
      std::vector<std::string> others;
      for (const Device &other : devices)
        if (&other != &device)
          others.push_back(other.name);
      contents.reports.push_back(
          {device.name, completeReport(device.report, device.recomputed,
                                       device.built, modules, others, sizes)});
    }
    result.report = contents.reports.front().second;
    result.otherReports = {contents.reports.begin() + 1,
                           contents.reports.end()};
  }

  ModelError writePackage(ArrayRef<PackageVariant> variants,
                          const std::map<std::string, std::string> &modules) {
    PackageContents contents;
    contents.model = llvm::sys::path::filename(options.model).str();
    completeReports(modules, contents);
    contents.options = describeProgram(options, *module);
    if (weights && !weights->replacedConstants().empty())
      contents.options.emplace_back(
          "init-constants", llvm::join(weights->replacedConstants(), "\n"));
    contents.accumulate = options.accumulate;
    auto writeTo = [&](llvm::raw_ostream &out) -> LogicalResult {
      FailureOr<uint64_t> size = mpc::writePackage(variants, contents, out);
      result.packageBytes = size.value_or(0);
      return size;
    };
    if (!options.output.empty())
      return write(options.output, writeTo);
    llvm::raw_string_ostream stream(result.package);
    return succeeded(writeTo(stream)) ? ModelError::None : ModelError::Internal;
  }

  ModelError write(llvm::StringRef path, llvm::StringRef content) {
    return write(path, [&](llvm::raw_ostream &out) {
      out << content;
      return success();
    });
  }

  /// Writes a file completely or not at all.
  ModelError
  write(llvm::StringRef path,
        llvm::function_ref<LogicalResult(llvm::raw_ostream &)> writeTo) {
    bool isMade = true;
    auto tryWrite = [&]() -> llvm::Error {
      llvm::Expected<AtomicFile> file = AtomicFile::create(path);
      if (!file)
        return file.takeError();
      AtomicFileStream stream(*file);
      isMade = succeeded(writeTo(stream));
      llvm::Error error = stream.finish();
      return error || !isMade ? std::move(error) : file->commit();
    };
    llvm::Error error = tryWrite();
    if (!isMade && !error)
      return ModelError::Internal;
    if (!error)
      return ModelError::None;
    result.error = llvm::toString(std::move(error));
    return ModelError::Io;
  }

  CompileOptions options;
  const std::optional<llvm::StringRef> bytes; ///< A model in memory.
  CompileResult result{};
  llvm::raw_string_ostream messages; ///< Into the result.
  std::unique_ptr<MLIRContext> ownedContext;
  MLIRContext &context;
  ModelDiagnosticHandler handler;
  ModelMessageCollector collector;
  FaultScope unnamed;
  std::map<std::string, std::string> modulePaths; ///< By node.
  OwningOpRef<ModuleOp> module; ///< For all devices, until their formats.
  std::optional<InitialWeights> weights; ///< For option `init`.
  std::vector<Variation> variations;
  std::vector<int64_t> sizes; ///< All batch sizes.
  std::vector<Device> devices;
};

} // namespace

CompileResult mpc::compile(const CompileOptions &options,
                           std::optional<llvm::StringRef> model) {
  return Compilation(options, model).run();
}

CompileResult mpc::lowerModel(const CompileOptions &options,
                              LoweredModule &lowered) {
  // Its diagnostic handler must be destroyed before the context.
  std::optional<Compilation> compilation(options);
  LoweredModule made;
  CompileResult result = compilation->lower(made);
  compilation.reset();
  lowered = std::move(made);
  return result;
}
