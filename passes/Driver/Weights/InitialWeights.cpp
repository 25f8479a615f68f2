//===- InitialWeights.cpp - The option init of a compilation --------------===//

#include "passes/Driver/Weights/InitialWeights.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "passes/Driver/Weights/OnnxWeights.h"
#include "passes/ValueBlob.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Values of the model
//===----------------------------------------------------------------------===//

/// A state of floats.
static WeightState describe(train::StateOp state) {
  auto type = cast<RankedTensorType>(state.getType());
  return {state.getSymName().str(),
          type.getElementType().isF64() ? MPC_DTYPE_F64 : MPC_DTYPE_F32,
          type.getShape().vec()};
}

static size_t sizeOf(const WeightState &state) {
  return ShapedType::getNumElements(state.shape) * mpc_dtype_size(state.dtype);
}

/// The elements of a state of floats in its type.
static std::vector<char> bytesOf(ElementsAttr elements,
                                 const WeightState &state) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    ArrayRef<char> data = resource.getData();
    return {data.begin(), data.end()};
  }
  std::vector<char> bytes(sizeOf(state));
  size_t at = 0;
  for (const APFloat &number : elements.getValues<APFloat>()) {
    const APInt bits = number.bitcastToAPInt();
    std::memcpy(bytes.data() + at, bits.getRawData(), bits.getBitWidth() / 8);
    at += bits.getBitWidth() / 8;
  }
  return bytes;
}

/// Gives a state the values of a blob, and frees those that it had.
static void setValue(train::StateOp state, AsmResourceBlob blob) {
  ElementsAttr own = state.getInitialValueAttr();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(own))
    *resource.getRawHandle().getResource()->getBlob() = std::move(blob);
  else
    state.setInitialValueAttr(DenseElementsAttr::getFromRawBuffer(
        cast<RankedTensorType>(state.getType()), blob.getData()));
}

//===----------------------------------------------------------------------===//
// Values of the file
//===----------------------------------------------------------------------===//

static std::unique_ptr<WeightsFile> openFile(const CompileOptions &options) {
  if (isModelName(options.init))
    return openOnnxWeights(options.init);
  if (!options.openWeights)
    throw WeightsError(WeightsError::Usage,
                       "option 'init': this program reads ONNX models only");
  return options.openWeights(options.init);
}

/// Maps a safetensors file, so that weights need no memory.
static std::shared_ptr<FileMapping> mapFile(const WeightsFile &file) {
  if (file.isModel)
    return nullptr;
  llvm::Expected<std::shared_ptr<FileMapping>> mapped =
      FileMapping::open(file.path);
  if (!mapped)
    throw WeightsError(WeightsError::Io, llvm::toString(mapped.takeError()));
  return *mapped;
}

InitialWeights::InitialWeights(const CompileOptions &options)
    : weights(openFile(options), options.mapNames),
      isStrict(options.initStrict != "off"), mapping(mapFile(weights.file())) {}

/// The values for a state: those of the file where they are, or a copy with the
/// type of the state.
AsmResourceBlob InitialWeights::readBlob(const StoredWeight &tensor,
                                         const WeightState &state) const {
  const WeightValues values(weights.file(), tensor, state);
  const size_t width = mpc_dtype_size(state.dtype);
  const size_t count = sizeOf(state) / width;
  if (mapping && tensor.dtype == state.dtype && tensor.offset % width == 0) {
    for (size_t i = 0; i < count; ++i)
      (void)values.at(i); // Throws unless it is finite.
    const size_t end = tensor.offset + tensor.bytes;
    return AsmResourceBlob(
        mapping->bytes().slice(tensor.offset, tensor.bytes), width,
        [file = mapping, begin = tensor.offset, end](void *, size_t, size_t) {
          file->releasePages(begin, end);
        },
        /*dataIsMutable=*/false);
  }
  AsmResourceBlob blob = allocateValueBlob(count * width);
  char *out = blob.getMutableData().data();
  for (size_t i = 0; i < count; ++i) {
    const double value = values.at(i);
    const float single = static_cast<float>(value);
    std::memcpy(out + i * width,
                width == sizeof(value) ? static_cast<const void *>(&value)
                                       : static_cast<const void *>(&single),
                width);
  }
  return blob;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Whether a constant other than a frozen weight takes the values of a tensor.
/// In an ONNX model, names such as `val_7` need not mean the same.
bool InitialWeights::isReplaceable(const StoredWeight &tensor,
                                   const WeightState &state,
                                   ElementsAttr own) const {
  if (!isFloatDtype(tensor.dtype))
    return false;
  if (!weights.file().isModel)
    return true;
  if (tensor.shape == state.shape && WeightValues(weights.file(), tensor, state)
                                         .equal(bytesOf(own, state).data()))
    return false;
  throw WeightsError(WeightsError::Usage,
                     weights.file().path + ": '" + state.name +
                         "' is a constant of both models, but differs; compile "
                         "a model that has these values");
}

/// Throws if numbers that import has computed with are others in the file.
void InitialWeights::checkFolded(const ImportResult &imported,
                                 WeightMatch &match) const {
  for (const auto &[name, numbers] : imported.foldedWeights) {
    auto found = weights.tensors().find(name);
    if (found == weights.tensors().end())
      continue;
    const StoredWeight &tensor = *found->second;
    const WeightState state = {name, MPC_DTYPE_F64, tensor.shape};
    const WeightValues values(weights.file(), tensor, state);
    bool areEqual =
        numbers.size() ==
        tensor.bytes / std::max<size_t>(mpc_dtype_size(tensor.dtype), 1);
    for (size_t i = 0; areEqual && i < numbers.size(); ++i)
      areEqual =
          static_cast<float>(values.at(i)) == static_cast<float>(numbers[i]);
    if (!areEqual)
      throw WeightsError(
          WeightsError::Usage,
          weights.file().path + ": '" + name +
              "' is frozen, and constants of the program are computed from it; "
              "compile without freezing it, or a model that has these values");
    match.skip(name);
  }
}

std::string InitialWeights::applyTo(const ImportResult &imported) {
  WeightMatch match(weights);
  for (auto op : imported.module.get().getOps<train::StateOp>()) {
    ElementsAttr own = op.getInitialValueAttr();
    const std::string name = op.getSymName().str();
    const bool isConstant = op.getKind() == train::StateKind::Constant;
    const bool isWeight = op.getKind() == train::StateKind::Parameter ||
                          op.getKind() == train::StateKind::Statistic ||
                          imported.frozenWeights.count(name) > 0;
    if (!own || !(isWeight || isConstant) ||
        !isa<FloatType>(own.getElementType()))
      continue;
    const WeightState state = describe(op);
    auto found = weights.tensors().find(name);
    if (!isWeight && (found == weights.tensors().end() ||
                      !isReplaceable(*found->second, state, own))) {
      match.skip(name);
      continue;
    }
    const StoredWeight *tensor = match.takeNeeded(name);
    if (!tensor)
      continue;
    setValue(op, readBlob(*tensor, state));
    if (isConstant)
      constants.insert(name);
  }
  checkFolded(imported, match);
  return match.finish(isStrict);
}

ModelError mpc::toModelError(const WeightsError &error) {
  switch (error.kind) {
  case WeightsError::Usage:
    return ModelError::Usage;
  case WeightsError::Invalid:
  case WeightsError::Damaged:
    return ModelError::Invalid;
  case WeightsError::Io:
    return ModelError::Io;
  case WeightsError::Limit:
    return ModelError::Limit;
  }
  return ModelError::Internal;
}
