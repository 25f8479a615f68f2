//===- Format.cpp - Number formats in the IR ------------------------------===//

#include "compiler/Dialect/Amp/IR/Format.h"

#include "compiler/Attributes/Attributes.h"
#include "compiler/Dialect/Amp/IR/Attributes.h"
#include "compiler/Dialect/Amp/IR/Fp8Type.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::amp;

FailureOr<Format> mpc::amp::parseFormat(AsmParser &parser) {
  StringRef name;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  if (const FormatFacts *row = findFormat(name))
    return row->format;
  return parser.emitError(loc)
         << "'" << name << "' is not a format in Formats.def";
}

FloatType mpc::amp::elementTypeOf(MLIRContext *context, Format format) {
  switch (format) {
#define MPC_FORMAT(Name, name, option, element, ...)                           \
  case Format::Name:                                                           \
    return element##Type::get(context);
#include "compiler/Support/Precision/Formats.def"
  }
  llvm_unreachable("not a row of Formats.def");
}

std::optional<Format> mpc::amp::formatOf(Type elementType) {
#define MPC_FORMAT(Name, name, option, element, type, dtype, Use, ...)         \
  if (isa<element##Type>(elementType) &&                                       \
      FormatFacts::Use != FormatFacts::Product)                                \
    return Format::Name;
#include "compiler/Support/Precision/Formats.def"
  return std::nullopt;
}

bool mpc::amp::isFp8(Type type) {
  std::optional<Format> format = formatOf(getElementTypeOrSelf(type));
  return format && factsOf(*format).isFp8();
}

bool mpc::amp::isFp8Gradient(Type type) {
  std::optional<Format> format = formatOf(getElementTypeOrSelf(type));
  return format && factsOf(*format).use == FormatFacts::LayerGradient;
}

void mpc::amp::setFormat(Operation *op, Format format) {
  op->setAttr(kFormatAttr, FormatAttr::get(op->getContext(), format));
}

std::optional<Format> mpc::amp::getFormat(Operation *op) {
  auto attribute = op->getAttrOfType<FormatAttr>(kFormatAttr);
  return attribute ? std::optional(attribute.getValue()) : std::nullopt;
}
