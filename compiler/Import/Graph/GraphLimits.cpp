//===- GraphLimits.cpp - Limits of models ---------------------------------===//
//
// A small file can expand to any amount of work. Each kind of work is counted
// during the import, so that exceeding a limit is an error instead of a
// compilation that exhausts time and memory.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/GraphImporter.h"

#include "compiler/Import/File/ErrorFault.h"
#include "compiler/Import/Graph/Elements.h"

using namespace mlir;
using namespace mpc;

/// Maximum number of inputs, and of outputs, of a model.
constexpr size_t kMaxInterface = 4096;

LogicalResult GraphImporter::report(llvm::Error error, Location loc,
                                    StringRef label) {
  llvm::handleAllErrors(std::move(error), [&](const ModelFileError &info) {
    result.error = info.kind;
    auto diagnostic = emitError(loc) << faultOf(info.kind);
    if (!label.empty())
      diagnostic << label << " ";
    diagnostic << info.message;
  });
  return failure();
}

/// The error for a model that exceeds a limit.
InFlightDiagnostic GraphImporter::exceedLimit(Location loc) {
  result.error = ModelError::Limit;
  return emitError(loc) << Fault::TooLarge;
}

LogicalResult GraphImporter::checkOps(Location loc) {
  if (ops.count <= options.maxOps)
    return success();
  return exceedLimit(loc)
         << "with this node the graph has more than " << options.maxOps
         << " operations, the limit; subgraphs, functions, loops and recurrent "
            "nets count as the operations they expand to: export a shorter "
            "sequence, or raise the limit with option 'max-ops'";
}

LogicalResult GraphImporter::checkInterface(size_t count, StringRef what) {
  if (count <= kMaxInterface)
    return success();
  return exceedLimit(UnknownLoc::get(context))
         << "the model has " << int64_t(count) << " " << what << "; at most "
         << int64_t(kMaxInterface)
         << " are supported; concatenate some of them";
}

LogicalResult GraphImporter::addWithLimit(int64_t &total, int64_t count,
                                          int64_t limit, Location loc,
                                          StringRef message) {
  if (count <= limit - total) { // Sums of extents may overflow.
    total += count;
    return success();
  }
  total = limit;
  return exceedLimit(loc) << "with this node, " << message;
}

LogicalResult GraphImporter::addElements(int64_t count, Location loc) {
  return addWithLimit(
      numElements, count, kMaxElements, loc,
      "the results of all nodes have more than 2^40 elements, the "
      "maximum; if a dimension was bound with option 'batch' or "
      "option 'dim', bind a smaller one");
}

LogicalResult GraphImporter::addSequence(int64_t length, Location loc) {
  constexpr int64_t kMaxInSequences = int64_t(1) << 24;
  return addWithLimit(
      numInSequences, length, kMaxInSequences, loc,
      "all sequences together have more than 2^24 elements, the maximum");
}

LogicalResult GraphImporter::countRead(int64_t count, Location loc) {
  constexpr int64_t kMaxRead = int64_t(1) << 33;
  return addWithLimit(
      numKnownRead, count, kMaxRead, loc,
      "nodes read more than 2^33 elements of constants at compile "
      "time; let the exporter store their results as initializers");
}

LogicalResult GraphImporter::addConstant(DenseElementsAttr value,
                                         Location loc) {
  numKnownTotal += value.getNumElements();
  if (!value.isSplat() && knownConstants.insert(value).second)
    numKnownDistinct += value.getNumElements();
  if (numKnownDistinct <= kMaxKnownDistinct && numKnownTotal <= kMaxKnownTotal)
    return success();
  return exceedLimit(loc)
         << "with this node the model exceeds the limit of constants computed "
            "at compile time; let the exporter store them as initializers";
}
