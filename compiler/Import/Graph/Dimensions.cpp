//===- Dimensions.cpp - Sizes for symbolic dimensions ---------------------===//

#include "compiler/Import/Graph/Dimensions.h"

#include "compiler/Import/File/TensorData.h"
#include "compiler/Support/Faults.h"
#include "compiler/Support/Locations.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

using namespace llvm;
using namespace mpc;
using mlir::emitError;
using mlir::failure;
using mlir::Location;
using mlir::LogicalResult;
using mlir::MLIRContext;
using mlir::success;
using mlir::UnknownLoc;
using onnx::ValueInfoProto;
using Dim = onnx::TensorShapeProto::Dimension;

constexpr int64_t kDefaultBatch = 32;

constexpr StringLiteral kSizeRule = "the size must lie in [1, 2^40]";

SmallVector<const ValueInfoProto *>
mpc::dataInputs(const onnx::GraphProto &graph) {
  StringSet<> initializers;
  for (const onnx::TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  SmallVector<const ValueInfoProto *> result;
  for (const ValueInfoProto &input : graph.input())
    if (!initializers.contains(input.name()))
      result.push_back(&input);
  return result;
}

static const onnx::TensorShapeProto &shapeProto(const ValueInfoProto &value) {
  return value.type().tensor_type().shape();
}

/// The name of a dimension without a size: its own, or "<input>.<axis>".
static std::string symbolOf(const Dim &dim, StringRef input, int axis) {
  if (!dim.dim_param().empty())
    return dim.dim_param();
  return (input + "." + Twine(axis)).str();
}

void Dimensions::addSymbol(StringRef name, StringRef input, int axis) {
  auto found = find_if(symbols, [&](Symbol &s) { return s.name == name; });
  if (found == symbols.end()) {
    std::string place =
        ("axis " + Twine(axis) + " of input '" + input + "'").str();
    symbols.push_back({name.str(), place});
    found = std::prev(symbols.end());
  }
  found->onlyFirstAxis &= axis == 0;
}

/// "option 'batch'=64".
static std::string batchText(const ImportOptions &options) {
  return "option '" + options.batchOption +
         "'=" + std::to_string(*options.batch);
}

/// Lists the symbols and finds the batch.
LogicalResult Dimensions::collect(ArrayRef<const ValueInfoProto *> inputs,
                                  MLIRContext *context) {
  for (const ValueInfoProto *input : inputs) {
    Location loc = makeNodeLoc(context, input->name(), "input");
    if (!input->type().has_tensor_type())
      return emitError(loc, "is not a tensor; only tensors are supported")
             << Fault::UnsupportedType;
    if (!input->type().tensor_type().has_shape())
      return emitError(loc, "no shape is given; use symbolic dimensions "
                            "where sizes vary");
    if (shapeProto(*input).dim_size() > int(kMaxRank))
      return emitError(loc)
             << Fault::TooLarge << "has " << shapeProto(*input).dim_size()
             << " dimensions; at most " << kMaxRank << " are supported";
    for (auto [axis, dim] : enumerate(shapeProto(*input).dim())) {
      if (axis == 0 && firstInput.empty()) {
        firstInput = input->name();
        batchIsSymbolic = !dim.has_dim_value();
        batchSize = dim.dim_value();
        if (batchIsSymbolic)
          batchSymbols.insert(symbolOf(dim, input->name(), 0));
      }
      if (dim.has_dim_value() && dim.dim_value() <= 0)
        return emitError(loc) << "dimension " << axis << " is "
                              << dim.dim_value() << "; it must be positive";
      if (!dim.has_dim_value())
        addSymbol(symbolOf(dim, input->name(), axis), input->name(), axis);
    }
  }
  return success();
}

LogicalResult Dimensions::applyOptions(const ImportOptions &options,
                                       MLIRContext *context) {
  const FaultScope scope(context, Fault::OptionConflict);
  Location loc = UnknownLoc::get(context);
  for (const auto &[name, size] : options.dims) {
    if (size <= 0 || size > kMaxElements)
      return emitError(loc)
             << "option 'dim' " << name << "=" << size << ": " << kSizeRule;
    if (none_of(symbols, [&](Symbol &s) { return s.name == name; })) {
      auto error = emitError(loc) << "option 'dim' " << name << "=" << size
                                  << ": the model has no such dimension";
      for (const Symbol &symbol : symbols)
        error.attachNote(loc)
            << "it has '" << symbol.name << "' (" << symbol.place << ")";
      return error;
    }
    sizes[name] = size;
  }
  if (!options.batch)
    return success();
  const std::string given = batchText(options);
  if (*options.batch <= 0 || *options.batch > kMaxElements)
    return emitError(loc) << given << ": " << kSizeRule;
  if (firstInput.empty())
    return emitError(loc) << given << ": no input of the model has a dimension";
  if (!batchIsSymbolic && batchSize != *options.batch)
    return emitError(loc) << given << ": axis 0 of input '" << firstInput
                          << "' is fixed to " << batchSize
                          << "; export the model with a symbolic batch "
                             "dimension";
  return success();
}

/// Binds unbound symbols that only occur as axis 0 to the batch size; `first`
/// is the symbol of the batch.
void Dimensions::bindFirstAxes(const ImportOptions &options, bool isGiven,
                               const std::string &first,
                               std::vector<std::string> &notes) {
  for (const Symbol &symbol : symbols) {
    bool isFirst = !first.empty() && symbol.name == first;
    if (batchSize == 0 ||
        (!isFirst && (!symbol.onlyFirstAxis || sizes.contains(symbol.name))))
      continue;
    batchSymbols.insert(symbol.name);
    if (sizes.try_emplace(symbol.name, batchSize).second &&
        !(isFirst && isGiven))
      notes.push_back("the size of dimension '" + symbol.name + "' (" +
                      symbol.place + ") is not given: using " +
                      std::to_string(batchSize) +
                      (options.batch || first.empty()
                           ? ""
                           : "; use option 'batch' to change it"));
  }
}

LogicalResult Dimensions::bindBatch(const ImportOptions &options,
                                    MLIRContext *context,
                                    std::vector<std::string> &notes) {
  if (!batchIsSymbolic) {
    bindFirstAxes(options, /*isGiven=*/false, "", notes);
    return success();
  }
  StringRef batchName = batchSymbols.begin()->getKey();
  int64_t bound = sizes.lookup(batchName);
  if (bound && options.batch && bound != *options.batch)
    return emitError(UnknownLoc::get(context))
           << Fault::OptionConflict << batchText(options)
           << " and option 'dim' " << batchName << "=" << bound
           << " bind the same dimension; give option 'batch'=" << bound
           << " instead of option 'dim'";
  batchSize = bound ? bound : options.batch.value_or(kDefaultBatch);
  bindFirstAxes(options, options.batch.has_value(), batchName.str(), notes);
  return success();
}

/// One error for all dimensions that only the user can decide.
LogicalResult Dimensions::requireAll(MLIRContext *context) {
  SmallVector<const Symbol *> open;
  for (const Symbol &symbol : symbols)
    if (!sizes.contains(symbol.name))
      open.push_back(&symbol);
  if (open.empty())
    return success();
  Location loc = UnknownLoc::get(context);
  auto error = emitError(loc)
               << open.size() << " dimension" << (open.size() == 1 ? "" : "s")
               << " of the model must be bound with option 'dim' NAME=N";
  for (const Symbol *symbol : open)
    error.attachNote(loc) << "'" << symbol->name << "' (" << symbol->place
                          << ")";
  return error;
}

LogicalResult Dimensions::bind(ArrayRef<const ValueInfoProto *> inputs,
                               const ImportOptions &options,
                               MLIRContext *context, ModelError &error,
                               std::vector<std::string> &notes) {
  const FaultScope scope(context, Fault::UnknownSize);
  error = ModelError::Invalid;
  if (failed(collect(inputs, context)))
    return failure();
  error = ModelError::Usage;
  if (failed(applyOptions(options, context)) ||
      failed(bindBatch(options, context, notes)) || failed(requireAll(context)))
    return failure();
  error = ModelError::None;
  return success();
}

SmallVector<int64_t> Dimensions::shapeOf(const ValueInfoProto &input) const {
  SmallVector<int64_t> shape;
  for (auto [axis, dim] : enumerate(shapeProto(input).dim()))
    shape.push_back(dim.has_dim_value()
                        ? dim.dim_value()
                        : sizes.lookup(symbolOf(dim, input.name(), axis)));
  return shape;
}

bool Dimensions::isBatched(const ValueInfoProto &input) const {
  if (shapeProto(input).dim_size() == 0)
    return false;
  const Dim &dim = shapeProto(input).dim(0);
  if (!dim.has_dim_value())
    return batchSymbols.contains(symbolOf(dim, input.name(), 0));
  return !batchIsSymbolic && dim.dim_value() == batchSize;
}

bool Dimensions::isBatchedOutput(const ValueInfoProto &output,
                                 int64_t extent) const {
  // If the batch is symbolic, an output with a fixed size does not depend on
  // it.
  bool isFixed = shapeProto(output).dim_size() > 0 &&
                 shapeProto(output).dim(0).has_dim_value();
  return extent == batchSize && batchSize > 0 && !(batchIsSymbolic && isFixed);
}
