//===- Import.cpp - Import of ONNX files as train ops ---------------------===//

#include "compiler/Import/Import.h"
#include "compiler/Import/Normalize/ModulePaths.h"

#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Import/Check/CheckModel.h"
#include "compiler/Import/Check/ExportDiagnostics.h"
#include "compiler/Import/File/ErrorFault.h"
#include "compiler/Import/File/FileMapping.h"
#include "compiler/Import/File/ForEachTensor.h"
#include "compiler/Import/Graph/Elements.h"
#include "compiler/Import/Graph/GraphImporter.h"
#include "compiler/Import/Initializers/NamePatterns.h"
#include "compiler/Import/Normalize/InlineFunctions.h"
#include "compiler/Import/Normalize/NormalizeModel.h"
#include "compiler/Import/TrainingStep/OrtArtifacts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <new>
#include <set>

using namespace mlir;
using namespace mpc;

/// Emits an error about the file as a whole, or a line of it.
static ModelError reportFileError(llvm::Error error, StringRef path,
                                  MLIRContext *context) {
  ModelError kind = ModelError::Invalid;
  llvm::handleAllErrors(std::move(error), [&](const ModelFileError &info) {
    kind = info.kind;
    // The location names the file.
    std::string text = info.message, name = ("'" + path + "'").str();
    if (size_t at = text.find(name); at != std::string::npos)
      text.replace(at, name.size(), "the file");
    emitError(FileLineColLoc::get(context, path, info.line, info.column))
        << faultOf(kind) << text;
  });
  return kind;
}

/// Records the model's producer and opset as the file states them.
static void beginSurvey(const onnx::ModelProto &model, ModelSurvey &survey) {
  survey.isRead = true;
  survey.producer = model.producer_name();
  if (!model.producer_version().empty())
    survey.producer += " " + model.producer_version();
  for (const onnx::OperatorSetIdProto &entry : model.opset_import())
    if (entry.domain().empty() || entry.domain() == "ai.onnx")
      survey.opset = std::max<int64_t>(survey.opset, entry.version());
}

/// Maximum number of nodes that function calls may expand to. Many of them are
/// constants and shapes, which do not become operations.
static int64_t maxInlinedNodes(const ImportOptions &options) {
  return std::min(options.maxOps, kMaxModelParts / 4) * 4;
}

/// Sets the initial step count, which random numbers depend on.
static void startCounting(ModuleOp module, int64_t step) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto scalar = RankedTensorType::get({}, builder.getI64Type());
  train::StateOp::create(
      builder, module.getLoc(),
      train::Program(module).freeName(usualName(train::StateRole::StepCount)),
      train::StateRole::StepCount, scalar,
      DenseElementsAttr::get(scalar, step));
}

/// Imports a model with an own step, which needs no heuristics for
/// initializers.
static ImportResult importTraining(std::shared_ptr<ModelFile> model,
                                   const ImportOptions &options,
                                   MLIRContext &context) {
  ImportResult result;
  result.error =
      inlineFunctions(model->proto, maxInlinedNodes(options), &context);
  if (result.error != ModelError::None)
    return result;
  result.error = ModelError::Invalid;
  FailureOr<int64_t> opset = checkModel(*model, &context, options.survey);
  if (failed(opset))
    return result;
  FailureOr<TrainingStep> step = readTrainingInfo(model->proto, &context);
  if (failed(step))
    return result;
  result.error = ModelError::None;
  GraphImporter(model, *opset, &*step, options, &context, result).run();
  // The counter that `mpc export --training` wrote.
  int64_t count = 0;
  for (const onnx::StringStringEntryProto &entry :
       model->proto.metadata_props())
    if (entry.key() == "mpc.step_count" && result.module &&
        !StringRef(entry.value()).getAsInteger(10, count) && count > 0) {
      startCounting(*result.module, count);
      break;
    }
  return result;
}

static ImportResult importParsed(std::shared_ptr<ModelFile> model,
                                 const ImportOptions &options,
                                 MLIRContext &context) {
  ImportResult result;
  context.loadDialect<train::TrainDialect, func::FuncDialect>();
  if (options.survey)
    beginSurvey(model->proto, *options.survey);
  result.modules = readModulePaths(model->proto.graph());
  upgradeOpset(model->proto);
  if (model->proto.training_info_size() > 0)
    return importTraining(model, options, context);
  result.notes = findExportLosses(model->proto.graph());
  std::vector<std::string> lifted = liftWeights(model->proto);
  if (!lifted.empty())
    result.notes.push_back(
        "trained as weights, although nodes produce them: '" + lifted[0] +
        "' and " + std::to_string(lifted.size() - 1) + " more");
  NamePatterns apart("option 'train'", "initializer");
  NamePatterns frozen("option 'freeze'", "initializer");
  if (failed(apart.compile(options.train, &context)) ||
      failed(frozen.compile(options.freeze, &context))) {
    result.error = ModelError::Usage;
    return result;
  }
  auto isApart = [&](StringRef name) { return apart.matchAndMark(name); };
  std::vector<std::string> tied = restoreTiedWeights(model, isApart);
  if (!tied.empty())
    result.notes.push_back(
        "treated as one weight that PyTorch's exporter stored twice: " +
        llvm::join(tied, ", ") +
        "; use option 'train'=REGEX to train matching ones separately");
  std::vector<std::string> untiled =
      deduplicateRepeatedWeights(model, [&](StringRef name) {
        return apart.matchAndMark(name) || frozen.matchAndMark(name);
      });
  if (!untiled.empty())
    result.notes.push_back(
        "one weight for all samples, although PyTorch's exporter stored it "
        "once per sample: " +
        llvm::join(untiled, ", ") +
        "; use option 'train'=REGEX to train matching ones per sample");
  result.error =
      inlineFunctions(model->proto, maxInlinedNodes(options), &context);
  if (result.error != ModelError::None)
    return result;
  // The graph may be missing, which is reported later.
  if (!options.extraOutputs.empty() &&
      failed(addOutputs(*model->proto.mutable_graph(), options.extraOutputs,
                        &context))) {
    result.error = ModelError::Usage;
    return result;
  }
  FailureOr<int64_t> opset = checkModel(*model, &context, options.survey);
  if (failed(opset)) {
    result.error = ModelError::Invalid;
    return result;
  }
  if (options.survey)
    options.survey->remarks = findRemarks(model->proto.graph());
  GraphImporter(model, *opset, /*step=*/nullptr, options, &context, result)
      .run();
  return result;
}

/// Imports the optimizer state of a checkpoint as moments of weights.
static LogicalResult importMoments(const OrtArtifacts &artifacts,
                                   ImportResult &result) {
  ModuleOp module = *result.module;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  static constexpr train::StateRole kRoles[] = {train::StateRole::FirstMoment,
                                                train::StateRole::SecondMoment};
  train::Program program(module);
  llvm::StringMap<train::StateOp> weights;
  for (train::StateOp weight : program.states(train::StateRole::Parameter))
    weights[weight.getSymName()] = weight;
  bool isAdam = StringRef(artifacts.optimizer.name).contains("adam");
  for (const OrtOptimizerGroup &group : artifacts.checkpoint.groups) {
    if (!isAdam || group.step == 0)
      continue;
    for (const OrtParameterState &state : group.states)
      for (auto [role, tensor] : llvm::zip(kRoles, state.momentums)) {
        train::StateOp weight = weights.lookup(state.parameter);
        if (!weight)
          continue;
        auto type = cast<RankedTensorType>(weight.getType());
        Location loc = weight.getLoc();
        if (type.getShape() != ArrayRef<int64_t>(tensor.shape))
          return emitError(loc) << "has another shape than its '" << tensor.name
                                << "' in the checkpoint";
        std::string name =
            program.freeName(usualName(role) + "/" + state.parameter);
        auto elements = makeElements(tensor.data, tensor.dataType, type, name);
        if (!elements) {
          emitError(loc) << toString(elements.takeError());
          return failure();
        }
        train::StateOp::create(builder, loc, name, role, type, *elements,
                               /*slots=*/nullptr, weight);
      }
    startCounting(module, group.step);
    result.notes.push_back("continues after step " +
                           std::to_string(group.step) +
                           " of the checkpoint, with its moments");
    break; // There is only one group.
  }
  return success();
}

/// Imports the training artifacts of ONNX Runtime.
static ImportResult importFolder(StringRef path, const ImportOptions &options,
                                 MLIRContext &context) {
  ImportResult result;
  try {
    llvm::Expected<OrtArtifacts> artifacts = readOrtArtifacts(path);
    if (!artifacts) {
      result.error = reportFileError(artifacts.takeError(), path, &context);
      return result;
    }
    context.loadDialect<train::TrainDialect, func::FuncDialect>();
    ModelFile &model = *artifacts->model;
    if (options.survey)
      beginSurvey(model.proto, *options.survey);
    result.error =
        inlineFunctions(model.proto, maxInlinedNodes(options), &context);
    if (result.error != ModelError::None)
      return result;
    result.error = ModelError::Invalid;
    FailureOr<int64_t> opset = checkModel(model, &context, options.survey);
    if (failed(opset))
      return result;
    result.error = ModelError::None;
    TrainingStep step = makeStep(*artifacts);
    GraphImporter(artifacts->model, *opset, &step, options, &context, result)
        .run();
    result.optimizer = artifacts->optimizer;
    if (result.module && failed(importMoments(*artifacts, result))) {
      result.module = nullptr;
      result.error = ModelError::Invalid;
    }
  } catch (const std::bad_alloc &) {
    emitError(FileLineColLoc::get(&context, path, 0, 0), "out of memory")
        << Fault::TooLarge;
    result.error = ModelError::Limit;
  }
  return result;
}

/// Imports a model; `mapping` as in parseModelFile.
static ImportResult importBuffer(llvm::MemoryBufferRef buffer,
                                 const FileMapping *mapping,
                                 const ImportOptions &options,
                                 MLIRContext &context) {
  ImportResult result;
  StringRef path = buffer.getBufferIdentifier();
  // Protobuf and the standard library throw when memory is exhausted.
  try {
    llvm::Expected<std::shared_ptr<ModelFile>> model =
        parseModelFile(buffer, mapping);
    if (model) {
      (*model)->hasFolder = options.hasFolder;
      (*model)->detachData();
      result = importParsed(*model, options, context);
      // Smaller tensors may keep the model, but not the weights.
      (*model)->forgetData();
      return result;
    }
    result.error = reportFileError(model.takeError(), path, &context);
  } catch (const std::bad_alloc &) {
    emitError(FileLineColLoc::get(&context, path, 0, 0), "out of memory")
        << Fault::TooLarge;
    result.error = ModelError::Limit;
  }
  return result;
}

ImportResult mpc::importOnnx(llvm::MemoryBufferRef buffer,
                             const ImportOptions &options,
                             MLIRContext &context) {
  const FaultScope scope(&context, Fault::InvalidModel);
  return importBuffer(buffer, /*mapping=*/nullptr, options, context);
}

ImportResult mpc::importOnnx(StringRef path, const ImportOptions &options,
                             MLIRContext &context) {
  const FaultScope scope(&context, Fault::InvalidModel);
  if (llvm::sys::fs::is_directory(path))
    return importFolder(path, options, context);
  llvm::Expected<std::shared_ptr<FileMapping>> file = FileMapping::open(path);
  if (!file) {
    ImportResult result;
    result.error = reportFileError(file.takeError(), path, &context);
    return result;
  }
  ArrayRef<char> bytes = (*file)->bytes();
  return importBuffer(
      llvm::MemoryBufferRef(StringRef(bytes.data(), bytes.size()), path),
      file->get(), options, context);
}

std::vector<std::string> mpc::externalFiles(StringRef path) {
  if (llvm::sys::fs::is_directory(path))
    return {};
  llvm::Expected<std::shared_ptr<ModelFile>> model = readModelFile(path);
  if (!model) {
    llvm::consumeError(model.takeError());
    return {};
  }
  std::set<std::string> locations;
  llvm::cantFail(forEachTensor((*model)->proto, [&](onnx::TensorProto &tensor) {
    for (const onnx::StringStringEntryProto &entry : tensor.external_data())
      if (entry.key() == "location")
        locations.insert(entry.value());
    return llvm::Error::success();
  }));
  std::vector<std::string> paths;
  for (const std::string &location : locations) {
    llvm::SmallString<256> below((*model)->folder);
    llvm::sys::path::append(below, location);
    paths.push_back(below.str().str());
  }
  return paths;
}
